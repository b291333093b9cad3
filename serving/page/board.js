// What the stream has for each key in its newest window and in the stretch of event time that this window starts in.
import { amount, plain } from "./amounts.js";
import { by, el, fill, text } from "./dom.js";
import { ranked } from "./model.js";
import { DAY, clock, day, length, listed, noun, number, period, sentence, words } from "./words.js";

const SHOWN = 10;
let shown = null; // { charted, time, board }
let order = "stretch";
let all = false;

export function showBoard(charted, { time, board }, missing) {
  shown = board ? { charted, time, board } : null;
  text(by("h-board"), sentence(words(charted.result)));
  by("board").hidden = !shown;
  by("all-keys").hidden = !shown || board.lines.length <= SHOWN;
  if (!shown) return text(by("board-note"), missing);
  text(by("board-note"), note(shown));
  return rows();
}

function note({ charted: { column, others }, time: { size, stretch }, board: { newest, since } }) {
  const at = clock(size);
  const newer = `${sentence(words(column))} in the newest window, ${at(newest)}–${at(newest + size)} (${length(size)})`;
  const dated = size < DAY ? ` of ${day(newest)}` : "";
  const stretched = stretch === null ? dated : `, and in ${stretchOf(stretch, since)} so far`;
  if (!others.length) return `${newer}${stretched}.`;
  const counted = listed(others.map((each) => words(each.name)));
  return `${newer}${stretched}, with the ${counted} that begin in it; ▲ is one of the newest window.`;
}

// "the hour 11:00–12:00 of 1 Mar 2026"
function stretchOf(stretch, since) {
  const at = clock(stretch);
  return stretch === DAY ? `the day ${day(since)}` : `the ${period(stretch)} ${at(since)}–${at(since + stretch)} of ${day(since)}`;
}

function rows() {
  const { charted, time, board } = shown;
  const told = time.stretch === null ? ["window"] : ["window", "stretch"];
  const leading = told.includes(order) ? order : "window";
  const most = Object.fromEntries(told.map((of) => [of, Math.max(...board.lines.map((each) => plain(each[of], charted.scale)))]));
  const bar = (each, of) => {
    const width = most[of] > 0 ? Math.max(0, (100 * plain(each[of], charted.scale)) / most[of]) : 0;
    return el("td", { class: `n ${of}` }, el("span", null, amount(each[of], charted.scale)), el("meter", { min: 0, max: 100, value: width.toFixed(1), "aria-hidden": "true" }));
  };
  const counted = ({ rows: found, now }) => el("td", { class: "n others" }, now && el("span", { class: "chip" }, "▲ now"), " ", number(found));
  const head = (of) =>
    el("th", { scope: "col", class: "n", id: `by-${of}`, "aria-sort": of === leading ? "descending" : "none" },
      el("button", { type: "button", "data-by": of }, period(of === "window" ? time.size : time.stretch)));
  const table = by("board");
  table.dataset.numbers = told.length + charted.others.length;
  keepFocus(() => fill(table.tHead, el("tr", null,
    el("th", { scope: "col", class: "rank" }, el("span", { class: "unseen" }, "Rank")),
    el("th", { scope: "col" }, charted.key === null ? "" : noun(charted.key)),
    told.map(head),
    charted.others.map((each) => el("th", { scope: "col", class: "n", title: each.meaning }, words(each.name))))));
  fill(
    table.tBodies[0],
    ranked(board.lines, leading).slice(0, all ? undefined : SHOWN).map((each, place) =>
      el("tr", null,
        el("td", { class: "rank faint" }, String(place + 1)),
        named(each, charted),
        told.map((of) => bar(each, of)),
        each.others.map(counted))),
  );
  text(by("all-keys"), all ? `Show the first ${SHOWN} only` : `Show all ${number(board.lines.length)}`);
  by("all-keys").setAttribute("aria-expanded", String(all));
}

// A pseudonym is long, and its beginning tells it from the others of a page.
function named({ name }, { key, personal }) {
  const said = key === null ? "all" : String(name ?? "–");
  return el("th", { scope: "row", title: personal && said }, el("span", { class: personal && "person" }, said));
}

// The head is made anew where another column leads: who is at a button of it stays there.
function keepFocus(change) {
  const at = document.activeElement?.dataset?.by;
  change();
  if (at) by("board").querySelector(`[data-by="${at}"]`)?.focus();
}

export function listen() {
  by("board").tHead.addEventListener("click", (event) => {
    const asked = event.target.closest("button")?.dataset.by;
    if (!asked || !shown) return;
    order = asked;
    rows();
  });
  by("all-keys").addEventListener("click", () => {
    all = !all;
    rows();
  });
}
