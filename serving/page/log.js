// What came into the log, and how far each layer has read it.
import { by, el, fill, text } from "./dom.js";
import { LAYERS, count, day, number, second, share } from "./words.js";

export function showLog(log, freshest) {
  const came = log.events + log.duplicates + log.quarantined;
  const mark = log.high_water === null ? null : Date.parse(log.high_water);
  const counted = [
    ["events", log.events, `log version ${log.version ?? "–"}`, "accepted"],
    ["late", log.late, `${share(log.late, log.events)} of the events`, "late"],
    ["duplicate", log.duplicates, `${share(log.duplicates, came)} of what landed`, "duplicate"],
    ["quarantined", log.quarantined, `${share(log.quarantined, came)} of what landed`, "quarantined"],
  ];
  fill(
    by("counts"),
    counted.map(([name, value, more, kind]) =>
      el("div", { class: kind, id: `count-${name}` }, el("dt", null, name), el("dd", null, el("b", null, number(value)), el("span", { class: "faint" }, more)))),
    el("div", { class: "mark", id: "count-mark" }, el("dt", null, "high-water mark"),
      el("dd", null, el("b", null, mark === null ? "–" : second(mark)), el("span", { class: "faint" }, mark === null ? "no event yet" : day(mark)))),
  );
  text(by("event-time"), mark === null ? "no event yet" : `${second(mark)} · ${day(mark)}`);
  const heads = ["layer", "read up to", "behind by", "events behind"];
  const rows = Object.entries(LAYERS).map(([layer, name]) => {
    const mine = freshest[layer];
    const cells = mine ? [`version ${number(mine.log_version)}`, number(mine.lag_versions), number(mine.lag_events)] : ["nothing yet", "–", "–"];
    return el("tr", { id: `lag-${layer}` }, el("th", { scope: "row" }, el("i", { class: layer }), name), cells.map((cell) => el("td", { class: "n" }, cell)));
  });
  fill(by("standing"),
    el("thead", null, el("tr", null, heads.map((head, place) => el("th", { scope: "col", class: place ? "n" : null }, head)))),
    el("tbody", null, rows));
  const { engine_rows: engine, repairs, recomputed } = freshest.kappa ?? {};
  text(by("standing-note"), freshest.kappa
    ? `Of ${freshest.kappa.result} the stream has written ${count(engine + recomputed, "revision")} by itself and ${count(repairs, "repair")} for late events.`
    : "");
}
