// The leaderboard of the newest window and of its hour, in event time, as the stream answers it.
import { by, el, fill, text } from "./dom.js";
import { HOUR, ranked } from "./model.js";
import { count, day, minute, number } from "./words.js";

const SHOWN = 10;
let board = null;
let order = "hour";
let all = false;

export function showTeams(found, missing) {
  board = found;
  by("teams").hidden = !found;
  by("all-teams").hidden = !found || found.teams.length <= SHOWN;
  if (!found) return fill(by("teams-note"), missing);
  const end = found.minute + found.size;
  const span = `${minute(found.hour)}–${minute(found.hour + HOUR)}`;
  text(by("teams-note"), `Bubbles in the newest window, ${minute(found.minute)}–${minute(end)}, and in the hour ${span} of ${day(found.hour)} so far, with the level-ups of that hour; ▲ is one of the newest window.`);
  return rows();
}

function rows() {
  const sorted = ranked(board.teams, order);
  const most = { minute: greatest("minute"), hour: greatest("hour") };
  const bar = (each, of) => {
    const width = most[of] > 0 ? Math.max(0, (100 * each[of]) / most[of]) : 0;
    return el("td", { class: `n ${of}` }, el("span", null, number(each[of])), el("meter", { min: 0, max: 100, value: width.toFixed(1), "aria-hidden": "true" }));
  };
  fill(
    by("teams").tBodies[0],
    sorted.slice(0, all ? undefined : SHOWN).map((each, place) =>
      el("tr", { "data-team": each.team },
        el("td", { class: "rank faint" }, String(place + 1)),
        el("th", { scope: "row" }, each.team),
        bar(each, "minute"), bar(each, "hour"),
        el("td", { class: "n level-ups" }, each.now && el("span", { class: "chip" }, "▲ now"), " ", number(each.levelUps))),
    ),
  );
  for (const of of ["minute", "hour"]) by(`by-${of}`).setAttribute("aria-sort", of === order ? "descending" : "none");
  text(by("all-teams"), all ? `Show the first ${SHOWN} only` : `Show all ${count(board.teams.length, "team")}`);
  by("all-teams").setAttribute("aria-expanded", String(all));
}

const greatest = (of) => Math.max(...board.teams.map((each) => each[of]));

export function listen() {
  by("teams").tHead.addEventListener("click", (event) => {
    const asked = event.target.closest("button")?.dataset.by;
    if (!asked || !board) return;
    order = asked;
    rows();
  });
  by("all-teams").addEventListener("click", () => {
    all = !all;
    rows();
  });
}
