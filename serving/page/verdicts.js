// The verdicts: the newest of each candidate in large, the last ones as a table.
import { by, el, fill } from "./dom.js";
import { LAYERS, ago, count, day, listed, number, second } from "./words.js";

const SIGNS = { agree: "✓", differ: "✗", "could not compare": "?" };
const kind = (status) => status.replaceAll(" ", "-");
const version = (verdict) => Math.max(...verdict.results.map((each) => each.log_version));

export function showVerdicts(verdicts) {
  const newest = ["kappa", "legacy"].map((candidate) => verdicts.find((each) => each.candidate === candidate)).filter(Boolean);
  fill(by("verdict-now"), newest.length ? newest.map(large) : el("p", null, "No verdict has been given on this lake yet."));
  const when = newest.map((each) => `${LAYERS[each.candidate].toLowerCase()} ${ago(Date.parse(each.at))}, at log version ${number(version(each))}`);
  fill(by("verdict-when"), when.length ? `Given: ${when.join("; ")}.` : [el("code", null, "parity reconcile"), " compares the layers and keeps what it finds."]);
  fill(by("verdicts"), verdicts.length ? history(verdicts) : el("p", { class: "note" }, "None yet."));
}

function large(verdict) {
  const { status, compared, equal, differing, unexplained, audit_balanced } = verdict;
  const judged = verdict.results.every((each) => each.status !== "could not compare");
  const control = verdict.candidate === "legacy";
  const of = verdict.results.length === 1 ? ` of ${verdict.results[0].result}` : "";
  const said = {
    agree: `equal in all ${count(compared, "settled key")}`,
    differ: `equal in ${number(equal)} of ${count(compared, "settled key")}, ${number(differing)} differ, ${number(unexplained)} without a cause${audit_balanced === false ? "; the input audit does not balance" : ""}`,
    "could not compare": judged && audit_balanced === null ? "the input could not be audited" : "too little is settled in both",
  }[status];
  // The control is there to be caught: for it, a difference with a cause is the good outcome.
  const good = control ? status === "differ" && unexplained === 0 : status === "agree";
  return el("p", { class: `large ${status === "could not compare" ? "unsure" : good ? "good" : "bad"}`, "data-candidate": verdict.candidate },
    el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[status] ?? "?"),
    el("span", null, el("b", null, heading(verdict)), el("span", null, ` ${said}${of}.`)));
}

const heading = ({ candidate, status }) => {
  const name = LAYERS[candidate] ?? candidate;
  if (status === "agree") return `${name} and batch agree:`;
  if (status === "differ") return `${name} and batch differ${candidate === "legacy" ? ", as they should" : ""}:`;
  return `${name} and batch could not be compared:`;
};

function causes(verdict) {
  const found = {};
  for (const each of verdict.results) {
    for (const [cause, keys] of Object.entries(each.by_cause)) found[cause] = (found[cause] ?? 0) + keys;
  }
  return Object.entries(found).sort(([, a], [, b]) => b - a).map(([cause, keys]) => `${cause} ${number(keys)}`);
}

function history(verdicts) {
  const heads = ["at", "candidate", "status", "compared", "equal", "differing", "in flight", "unexplained", "causes"];
  const numbers = ["compared", "equal", "differing", "in_flight", "unexplained"];
  const rows = verdicts.map((each) => {
    const at = Date.parse(each.at);
    const cell = (label, value, more = {}) => el("td", { "data-label": label, ...more }, value);
    return el("tr", { "data-run": each.id },
      el("th", { scope: "row" }, `${second(at)} `, el("span", { class: "faint" }, day(at))),
      cell("candidate", (LAYERS[each.candidate] ?? each.candidate).toLowerCase()),
      cell("status", el("span", { class: `tag ${kind(each.status)}` }, `${SIGNS[each.status] ?? "?"} ${each.status}`)),
      numbers.map((name) => cell(name.replace("_", " "), number(each[name]), { class: name === "unexplained" && each[name] ? "n alarm" : "n" })),
      cell("causes", listed(causes(each)) || "–"));
  });
  const head = heads.map((name) => el("th", { scope: "col", class: numbers.includes(name.replace(" ", "_")) ? "n" : null }, name));
  return el("table", { class: "verdicts" }, el("thead", null, el("tr", null, head)), el("tbody", null, rows));
}
