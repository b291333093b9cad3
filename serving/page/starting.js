// What `parity live` is starting: each part with what it is doing, and seconds that tick between two answers.
import { by, el, fill, text } from "./dom.js";
import { lasting } from "./words.js";

const SIGNS = { waiting: "·", starting: "…", ready: "✓" };

let found = null;
let since = 0;

export function keepStarting(answer) {
  found = answer;
  since = performance.now();
  showStarting();
}

const coming = () => (found?.parts ?? []).filter((each) => each.state !== "ready").length;

export const isStarting = () => coming() > 0;

export function showStarting() {
  by("starting").hidden = !isStarting();
  if (!isStarting()) return;
  const { parts } = found;
  const passed = (performance.now() - since) / 1000;
  text(by("starting-note"), `${parts.length - coming()} of ${parts.length} are there after ${lasting(found.seconds + passed)}. What is below fills as they come.`);
  fill(by("starting-parts"), el("tbody", null, parts.map((each) => row(each, each.state === "starting" ? passed : 0))));
}

function row({ name, state, said, seconds }, passed) {
  return el("tr", { class: state, "data-part": name },
    el("td", { class: "faint" }, SIGNS[state]),
    el("th", { scope: "row" }, name),
    el("td", null, said),
    el("td", { class: "n" }, seconds === null ? "" : lasting(seconds + passed)));
}
