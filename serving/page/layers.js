// Layers and control over event time: the chart, its words and its table.
import { amount, plain, signedAmount } from "./amounts.js";
import { draw } from "./chart.js";
import { by, el, fill, table, text, under } from "./dom.js";
import { comparableUntil, compared, floor, offsets, sums, tally } from "./model.js";
import { judged } from "./repairs.js";
import { LAYERS, clock, count, listed, noun, number, period, sentence, share, words } from "./words.js";

let shown = null;
let chart = null;
let pointed = null;

// Everything that is drawn, from the answers of the layers that there are.
export async function comparison(charted, answers, time, cutOff) {
  const { kappa, batch, legacy } = answers;
  const lines = {};
  for (const layer of ["kappa", "batch", "legacy"]) {
    if (answers[layer]) lines[layer] = sums(charted, answers[layer], time, (charted.layers[layer]?.lag_versions ?? 0) > 0);
  }
  const edge = (moment) => Math.max(time.first, Math.min(floor(moment, time.size), time.newest + time.size));
  const settled = kappa ? edge(Date.parse(kappa.settled_before)) : time.newest + time.size;
  const found = { charted, time, sums: lines, offsets: {}, repaired: [], settled, compared: settled, answers };
  if (kappa && batch) {
    const cells = compared(charted, kappa, batch, comparableUntil(kappa, batch, cutOff));
    const fates = await judged(charted, cells.differing, kappa, batch);
    const fate = (each) => (each.equal ? "equal" : fates.get(each.key));
    found.stream = tally(cells, fate);
    found.offsets.kappa = offsets(cells, (each) => ["equal", "differs"].includes(fate(each)), time);
    const repaired = cells.differing.filter((each) => fates.get(each.key) === "repaired");
    found.repaired = [...new Set(repaired.map((each) => (floor(Date.parse(each.row.window_start), time.size) - time.first) / time.size))];
    found.compared = Math.min(settled, edge(cells.until));
  }
  if (legacy && batch) {
    const cells = compared(charted, legacy, batch, comparableUntil(legacy, batch, cutOff));
    found.control = tally(cells, (each) => (each.equal ? "equal" : "differs"));
    found.offsets.legacy = offsets(cells, () => true, time);
  }
  return found;
}

export function showLayers(found, missing) {
  shown = found;
  by("layers-chart").hidden = by("layers-legend").hidden = by("layers-table").hidden = !found;
  if (!found) {
    text(by("layers-missing"), missing);
    fill(by("layers-words"));
    text(by("layers-note"), "");
    text(by("layers-readout"), "");
    return;
  }
  text(by("layers-note"), `${sentence(perWindow(found.charted))}: ${found.charted.meaning}.`);
  redraw();
  const legend = Object.keys(LAYERS).map((layer) =>
    el("li", { class: found.sums[layer] ? null : "faint" }, el("i", { class: layer }), LAYERS[layer],
      found.sums[layer] ? null : ": nothing yet"),
  );
  const more = (kind, said) => legend.push(el("li", null, el("i", { class: kind }), said));
  if (found.settled < found.time.newest + found.time.size) more("in-flight", "in flight");
  if (found.compared < found.settled) more("behind", "settled, not in batch yet");
  if (found.repaired.length) more("repaired", "repaired since batch ran");
  fill(by("layers-legend"), legend);
  text(by("layers-missing"), "");
  fill(by("layers-words"), outcome(found).map(([term, said]) => el("div", null, el("dt", null, term), el("dd", null, said))));
  under(by("layers-table"), () => asTable(found));
}

// What is compared and what came of it, as terms and what they mean here.
function outcome({ charted, stream, control, answers, time, settled, compared: until }) {
  if (!answers.batch) return [["Compared", `nothing: the batch layer has not computed ${charted.result} yet.`]];
  if (!answers.kappa) return [["Compared", `nothing: the stream has not computed ${charted.result} yet.`]];
  const cells = `cells, one for each ${listed([...charted.columns.map(noun), "window"])},`;
  const version = number(answers.batch.log_version);
  const out = [
    ["Compared", `${cells} that are settled in both layers and computed by batch: windows that ended by ${said(time)(until)}, at log version ${version}.`],
    ["Stream", judgement(stream, charted)],
    ["Control", control ? judgement(control, charted) : "no answer yet."],
  ];
  const waiting = [];
  const open = (time.newest + time.size - settled) / time.size;
  if (open) waiting.push(`${count(open, "window")} in flight`);
  const behind = (settled - until) / time.size;
  if (behind) waiting.push(`${count(behind, "window")} that batch has not computed yet`);
  if (stream.repaired) waiting.push(`${count(stream.repaired, "cell")} that late events repaired since batch ran`);
  if (stream.unknown) waiting.push(`${count(stream.unknown, "cell")} of which one side has read more of the log`);
  out.push(["Not judged", `${listed(waiting) || "nothing"}.`]);
  return out;
}

function judgement({ compared: all, differs, moved }, { column, scale }) {
  if (!all) return "nothing to compare in the time shown.";
  if (!differs) return `equal in all ${count(all, "cell")}.`;
  return `differs in ${number(differs)} of ${count(all, "cell")} (${share(differs, all)}), with ${words(column)} off by ${amount(moved, scale)} in all.`;
}

const said = ({ size, span }) => clock(size, span);

// What is drawn: "visits per minute, added up over every door".
function perWindow({ column, columns, size }) {
  const over = columns.length ? `, added up over every ${listed(columns.map(noun))}` : "";
  return `${words(column)} per ${period(size)}${over}`;
}

function asTable({ charted, time, sums: lines, offsets: off, settled, compared: until, repaired }) {
  const layers = Object.keys(LAYERS).filter((layer) => lines[layer]);
  const others = layers.filter((layer) => off[layer]);
  const heads = ["window", ...layers.map((layer) => LAYERS[layer]), ...others.map((layer) => `${LAYERS[layer]} − batch`), "state"];
  const cell = (value, written) => (value === null || value === undefined ? "–" : written(value, charted.scale));
  const start = said(time);
  const rows = [];
  for (let place = time.count - 1; place >= 0; place -= 1) {
    const at = time.first + place * time.size;
    const state = at >= settled ? "in flight" : at >= until ? "not in batch yet" : repaired.includes(place) ? "repaired since" : "settled";
    rows.push([
      start(at), ...layers.map((layer) => cell(lines[layer][place], amount)),
      ...others.map((layer) => cell(off[layer][place], signedAmount)), state,
    ]);
  }
  return table(`${sentence(perWindow(charted))}, newest first`, heads, rows);
}

function redraw() {
  if (!shown) return;
  const label = `Chart of ${perWindow(shown.charted)}, for each layer, with the difference to batch below. The words and the table below it say the same.`;
  chart = draw(by("layers-chart"), { ...shown, sums: drawn(shown.sums), offsets: drawn(shown.offsets), scale: shown.charted.scale, label });
  point(pointed);
}

const drawn = (lines) =>
  Object.fromEntries(Object.entries(lines).map(([layer, values]) =>
    [layer, values.map((value) => (value === null ? null : plain(value, shown.charted.scale)))]));

// One window in figures: the one that is pointed at, otherwise the newest that the stream has.
function point(place) {
  const { time, charted: { scale } } = shown;
  pointed = place !== null && place >= 0 && place < time.count ? place : null;
  chart.mark(pointed);
  const newest = Math.max(0, (shown.sums.kappa ?? shown.sums.batch).findLastIndex((value) => value !== null));
  const at = pointed ?? newest;
  const figures = Object.keys(LAYERS).filter((layer) => shown.sums[layer]).map((layer) => {
    const [value, off] = [shown.sums[layer][at], shown.offsets[layer]?.[at]];
    const more = off === null || off === undefined ? "" : ` (${signedAmount(off, scale)})`;
    return `${LAYERS[layer].toLowerCase()} ${value === null ? "–" : amount(value, scale)}${more}`;
  });
  text(by("layers-readout"), `${said(time)(time.first + at * time.size)}  ${figures.join(" · ")}`);
}

export function watch() {
  const holder = by("layers-chart");
  new ResizeObserver(redraw).observe(holder);
  holder.addEventListener("pointermove", (event) => {
    if (chart) point(chart.at(event.clientX - holder.getBoundingClientRect().left));
  });
  holder.addEventListener("pointerleave", () => chart && point(null));
}
