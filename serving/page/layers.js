// Layers and control over event time: the chart, its words and its table.
import { draw } from "./chart.js";
import { by, el, fill, table, text, under } from "./dom.js";
import { comparableUntil, compared, floor, offsets, sums } from "./model.js";
import { judged } from "./repairs.js";
import { LAYERS, count, listed, minute, number, share, signed } from "./words.js";

let shown = null;
let chart = null;
let pointed = null;

// Everything that is drawn, from the answers of the layers that there are.
export async function comparison(answers, standing, hour, cutOff) {
  const { kappa, batch, legacy } = answers;
  const lines = {};
  for (const layer of ["kappa", "batch", "legacy"]) {
    if (answers[layer]) lines[layer] = sums(answers[layer], hour, (standing[layer]?.lag_versions ?? 0) > 0);
  }
  const edge = (moment) => Math.max(hour.first, Math.min(floor(moment, hour.size), hour.newest + hour.size));
  const settled = kappa ? edge(Date.parse(kappa.settled_before)) : hour.newest + hour.size;
  const found = { hour, sums: lines, offsets: {}, repaired: [], settled, compared: settled, answers };
  if (kappa && batch) {
    const cells = compared(kappa, batch, comparableUntil(kappa, batch, cutOff));
    const fates = await judged(cells.differing, kappa, batch);
    const fate = (each) => (each.equal ? "equal" : fates.get(each.key));
    found.stream = tally(cells, fate);
    found.offsets.kappa = offsets(cells, (each) => ["equal", "differs"].includes(fate(each)), hour);
    const repaired = cells.differing.filter((each) => fates.get(each.key) === "repaired");
    found.repaired = [...new Set(repaired.map((each) => (Date.parse(each.row.window_start) - hour.first) / hour.size))];
    found.compared = Math.min(settled, edge(cells.until));
  }
  if (legacy && batch) {
    const cells = compared(legacy, batch, comparableUntil(legacy, batch, cutOff));
    found.control = tally(cells, (each) => (each.equal ? "equal" : "differs"));
    found.offsets.legacy = offsets(cells, () => true, hour);
  }
  return found;
}

function tally(cells, fate) {
  const by = { equal: 0, differs: 0, repaired: 0, unknown: 0 };
  for (const each of cells.cells) by[fate(each)] += 1;
  const moved = cells.cells.filter((each) => fate(each) === "differs").reduce((sum, each) => sum + Math.abs(each.off), 0);
  return { ...by, compared: by.equal + by.differs, moved, until: cells.until };
}

export function showLayers(found, missing) {
  shown = found;
  by("layers-chart").hidden = by("layers-legend").hidden = by("layers-table").hidden = !found;
  if (!found) {
    text(by("layers-missing"), missing);
    fill(by("layers-words"));
    text(by("layers-readout"), "");
    return;
  }
  redraw();
  const legend = Object.keys(LAYERS).map((layer) =>
    el("li", { class: found.sums[layer] ? null : "faint" }, el("i", { class: layer }), LAYERS[layer],
      found.sums[layer] ? null : ": nothing yet"),
  );
  const more = (kind, said) => legend.push(el("li", null, el("i", { class: kind }), said));
  if (found.settled < found.hour.newest + found.hour.size) more("in-flight", "in flight");
  if (found.compared < found.settled) more("behind", "settled, not in batch yet");
  if (found.repaired.length) more("repaired", "repaired since batch ran");
  fill(by("layers-legend"), legend);
  text(by("layers-missing"), "");
  fill(by("layers-words"), words(found).map(([term, said]) => el("div", null, el("dt", null, term), el("dd", null, said))));
  under(by("layers-table"), () => asTable(found));
}

// What is compared and what came of it, as terms and what they mean here.
function words({ stream, control, answers, hour, settled, compared: until }) {
  if (!answers.batch) return [["Compared", "nothing: the batch layer has not computed team_scores yet."]];
  if (!answers.kappa) return [["Compared", "nothing: the stream has not computed team_scores yet."]];
  const version = number(answers.batch.log_version);
  const out = [
    ["Compared", `cells, a team in a window, that are settled in both layers and computed by batch: windows that ended by ${minute(until)}, at log version ${version}.`],
    ["Stream", judgement(stream)],
    ["Control", control ? judgement(control) : "no answer yet."],
  ];
  const waiting = [];
  const open = (hour.newest + hour.size - settled) / hour.size;
  if (open) waiting.push(`${count(open, "window")} in flight`);
  const behind = (settled - until) / hour.size;
  if (behind) waiting.push(`${count(behind, "window")} that batch has not computed yet`);
  if (stream.repaired) waiting.push(`${count(stream.repaired, "cell")} that late events repaired since batch ran`);
  if (stream.unknown) waiting.push(`${count(stream.unknown, "cell")} of which one side has read more of the log`);
  out.push(["Not judged", `${listed(waiting) || "nothing"}.`]);
  return out;
}

function judgement({ compared: all, differs, moved }) {
  if (!all) return "nothing to compare in this hour.";
  if (!differs) return `equal in all ${count(all, "cell")}.`;
  return `differs in ${number(differs)} of ${count(all, "cell")} (${share(differs, all)}), by ${count(moved, "bubble")} in all.`;
}

function asTable({ hour, sums: lines, offsets: off, settled, compared: until, repaired }) {
  const layers = Object.keys(LAYERS).filter((layer) => lines[layer]);
  const others = layers.filter((layer) => off[layer]);
  const heads = ["window", ...layers.map((layer) => LAYERS[layer]), ...others.map((layer) => `${LAYERS[layer]} − batch`), "state"];
  const cell = (value, said) => (value === null || value === undefined ? "–" : said(value));
  const rows = [];
  for (let place = (hour.newest - hour.first) / hour.size; place >= 0; place -= 1) {
    const start = hour.first + place * hour.size;
    const state = start >= settled ? "in flight" : start >= until ? "not in batch yet" : repaired.includes(place) ? "repaired since" : "settled";
    rows.push([
      minute(start), ...layers.map((layer) => cell(lines[layer][place], number)),
      ...others.map((layer) => cell(off[layer][place], signed)), state,
    ]);
  }
  return table("Bubbles of all teams per window, newest first", heads, rows);
}

function redraw() {
  if (!shown) return;
  const label = "Chart of the bubbles of all teams per window for each layer, with the difference to batch below. The words and the table below it say the same.";
  chart = draw(by("layers-chart"), { ...shown, label });
  point(pointed);
}

// One window in figures: the one that is pointed at, otherwise the newest that the stream has.
function point(place) {
  const last = (shown.hour.newest - shown.hour.first) / shown.hour.size;
  pointed = place !== null && place >= 0 && place <= last ? place : null;
  chart.mark(pointed);
  const newest = Math.max(0, (shown.sums.kappa ?? shown.sums.batch).findLastIndex((value) => value !== null));
  const at = pointed ?? newest;
  const said = Object.keys(LAYERS).filter((layer) => shown.sums[layer]).map((layer) => {
    const [value, off] = [shown.sums[layer][at], shown.offsets[layer]?.[at]];
    const more = off === null || off === undefined ? "" : ` (${signed(off)})`;
    return `${LAYERS[layer].toLowerCase()} ${value === null ? "–" : number(value)}${more}`;
  });
  text(by("layers-readout"), `${minute(shown.hour.first + at * shown.hour.size)}  ${said.join(" · ")}`);
}

export function watch() {
  const holder = by("layers-chart");
  new ResizeObserver(redraw).observe(holder);
  holder.addEventListener("pointermove", (event) => {
    if (chart) point(chart.at(event.clientX - holder.getBoundingClientRect().left));
  });
  holder.addEventListener("pointerleave", () => chart && point(null));
}
