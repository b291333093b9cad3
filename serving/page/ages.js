// How old the freshest result of each layer is: a figure that ticks between two answers, and the last minutes as a line.
import { by, el, fill, svg, table, text, under } from "./dom.js";
import { isStarting } from "./starting.js";
import { LAYERS, lasting, second } from "./words.js";

const KEPT = 600_000; // ten minutes
const LEAST = 60_000;
const STILL = 60; // seconds without a commit, after which the log stands still
const NONE = {
  kappa: "No stream has run on this lake.",
  batch: "The batch layer has not run on this lake.",
  legacy: "This lake has no control.",
};

let found = null;
let since = 0;
const samples = []; // { at, kappa, batch, legacy }

export function keepAges(freshest) {
  found = freshest;
  since = performance.now();
  const sample = { at: Date.now() };
  for (const layer of Object.keys(LAYERS)) sample[layer] = freshest[layer]?.age_seconds ?? null;
  samples.push(sample);
  while (samples.length && samples[0].at < sample.at - KEPT) samples.shift();
  showAges();
}

export function showAges() {
  if (!found) return;
  const passed = (performance.now() - since) / 1000;
  const holder = by("ages");
  if (!holder.children.length) fill(holder, Object.keys(LAYERS).map(frame));
  const span = Math.min(KEPT, Math.max(LEAST, Date.now() - samples[0].at));
  const highest = Math.max(1, ...samples.flatMap((each) => Object.keys(LAYERS).map((layer) => each[layer] ?? 0)));
  for (const layer of Object.keys(LAYERS)) {
    const part = by(`age-${layer}`);
    const mine = found[layer];
    text(part.querySelector("b"), mine ? lasting(mine.age_seconds + passed) : "–");
    part.dataset.seconds = mine ? mine.age_seconds : "";
    text(part.querySelector("p"), mine ? `log version ${mine.log_version}` : isStarting() ? "Not yet." : NONE[layer]);
    part.querySelector("svg").replaceChildren(mine ? trace(layer, span, highest) : "");
  }
  text(by("age-note"), note(passed, span, highest));
  under(by("age-table"), asTable);
}

function frame(layer) {
  const drawn = svg("svg", { viewBox: "0 0 100 30", preserveAspectRatio: "none", "aria-hidden": "true" });
  return el("div", { id: `age-${layer}`, class: `age ${layer}` }, el("h3", null, LAYERS[layer]), el("b"), drawn, el("p", { class: "note" }));
}

function trace(layer, span, highest) {
  const now = Date.now();
  const known = samples.filter((each) => each[layer] !== null && each.at >= now - span);
  const points = known.map((each) => `${(100 - ((now - each.at) / span) * 100).toFixed(2)},${(29 - (each[layer] / highest) * 27).toFixed(2)}`);
  return svg("polyline", { class: `line ${layer}`, points: points.join(" ") });
}

function note(passed, span, highest) {
  const caughtUp = Object.values(found).filter((each) => each.lag_versions === 0);
  const quiet = Math.min(...caughtUp.map((each) => each.age_seconds + passed), Infinity);
  const drawn = `The lines are the last ${Math.ceil(span / 60_000)} min on this page, on one scale up to ${lasting(highest)}.`;
  if (quiet < Infinity && quiet > STILL) return `Nothing new has come into the log for ${lasting(quiet)}, so every age grows. ${drawn}`;
  return found.batch ? `The batch layer's age grows until it runs again. ${drawn}` : drawn;
}

function asTable() {
  const every = [];
  for (const each of [...samples].reverse()) {
    if (!every.length || every.at(-1).at - each.at >= 15_000) every.push(each);
  }
  const rows = every.map((each) => [second(each.at), ...Object.keys(LAYERS).map((layer) => (each[layer] === null ? "–" : lasting(each[layer])))]);
  return table("Age of the freshest result, newest first", ["at", ...Object.values(LAYERS)], rows);
}
