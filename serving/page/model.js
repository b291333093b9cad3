// What the page computes from answers of the API. No element and no clock is touched here.
import { millis } from "./words.js";

export const HOUR = 36e5;
export const floor = (moment, size) => Math.floor(moment / size) * size;

// The last hour of event time in whole windows, of which the newest holds the high-water mark; an hour need not be a whole number
// of them. `asked` is where the rows have to begin: the stream may be behind, and its newest window in the hour before.
export function hourOf(highWater, size) {
  const newest = floor(highWater, size);
  const first = newest - (Math.ceil(HOUR / size) - 1) * size;
  return { first, newest, size, asked: floor(first, HOUR) };
}

// An answer without the windows before that hour.
export const within = (answer, { first }) =>
  answer && { ...answer, rows: answer.rows.filter((row) => Date.parse(row.window_start) >= first) };

// Teams with their bubbles in the newest window that the stream has and in the hour of the clock that this window starts in.
export function leaderboard(scores, levelUps, { first, size }) {
  const minute = Math.max(-Infinity, ...scores.map((row) => Date.parse(row.window_start)));
  if (minute < first) return null;
  const hour = floor(minute, HOUR);
  const teams = new Map();
  const team = (row) => {
    if (!teams.has(row.team_id)) teams.set(row.team_id, { team: row.team_id, minute: 0, hour: 0, levelUps: 0, now: false });
    return teams.get(row.team_id);
  };
  for (const row of scores) {
    const start = Date.parse(row.window_start);
    if (start < hour) continue;
    team(row).hour += row.bubbles;
    if (start === minute) team(row).minute += row.bubbles;
  }
  for (const row of levelUps) {
    const start = Date.parse(row.window_start);
    if (start < hour) continue;
    team(row).levelUps += 1;
    if (start === minute) team(row).now = true;
  }
  return { minute, hour, size, teams: [...teams.values()] };
}

export function ranked(teams, first) {
  const second = first === "minute" ? "hour" : "minute";
  return [...teams].sort((a, b) => b[first] - a[first] || b[second] - a[second] || (a.team < b.team ? -1 : 1));
}

const cell = (row) => JSON.stringify([row.team_id, row.window_start]);
const MINE = new Set(["team_id", "window_start", "window_end", "settled"]);
const equal = (one, other) =>
  Boolean(one && other) && Object.keys(one).every((name) => MINE.has(name) || one[name] === other[name]);

// Cell by cell, over the windows that ended by `until`: a row that only one side has differs as well.
export function compared(candidate, batch, until) {
  const ended = (row) => Date.parse(row.window_end) <= until;
  const theirs = new Map(batch.rows.filter(ended).map((row) => [cell(row), row]));
  const mine = new Map(candidate.rows.filter(ended).map((row) => [cell(row), row]));
  const cells = [...new Set([...theirs.keys(), ...mine.keys()])].map((key) => {
    const [one, other] = [mine.get(key), theirs.get(key)];
    const off = (one?.bubbles ?? 0) - (other?.bubbles ?? 0);
    return { key, row: one ?? other, has: Boolean(one), equal: equal(one, other), off };
  });
  return { until, cells, differing: cells.filter((each) => !each.equal) };
}

// Up to where a layer can be compared: settled in both, and computed by batch without a gap.
export function comparableUntil(candidate, batch, cutOff) {
  const ends = [candidate.settled_before, batch.settled_before, cutOff].filter(Boolean);
  return Math.min(...ends.map((each) => Date.parse(each)));
}

// The sums of all teams per window. A layer that is behind has no sum for windows that it has not come to.
export function sums(answer, { first, newest, size }, behind) {
  const found = new Map();
  for (const row of answer.rows) {
    const start = Date.parse(row.window_start);
    found.set(start, (found.get(start) ?? 0) + row.bubbles);
  }
  const last = behind ? Math.max(-Infinity, ...found.keys()) : newest;
  const out = [];
  for (let start = first; start <= newest; start += size) out.push(start <= last ? (found.get(start) ?? 0) : null);
  return out;
}

// The difference to batch per window, over the cells that were judged; none where nothing was.
export function offsets(comparison, judged, { first, newest, size }) {
  const out = [];
  const found = new Map();
  for (const each of comparison.cells) {
    const start = Date.parse(each.row.window_start);
    if (judged(each)) found.set(start, (found.get(start) ?? 0) + each.off);
  }
  for (let start = first; start <= newest; start += size) {
    out.push(start + size <= comparison.until ? (found.get(start) ?? 0) : null);
  }
  return out;
}

// The freshest result of each layer: the one of the least age; of equal ones the first, which is `preferred`.
export function freshest(results, preferred) {
  const found = {};
  for (const { name, layers } of [...results].sort((a, b) => (b.name === preferred) - (a.name === preferred))) {
    for (const [layer, standing] of Object.entries(layers)) {
      if (!found[layer] || standing.age_seconds < found[layer].age_seconds) found[layer] = { ...standing, result: name };
    }
  }
  return found;
}

export const windowOf = (result) => millis(result.window.size ?? "") || 6e4;
