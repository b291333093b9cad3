// What the page computes from answers of the API. No element and no clock is touched here.
import { magnitude, scaleOf, units } from "./amounts.js";
import { DAY, HOUR, MINUTE, millis } from "./words.js";

export const floor = (moment, size) => Math.floor(moment / size) * size;

// What the lake's pipeline says that is charted, and which results are counted beside it: those that have its key.
export function charted({ charted: { result, column, key }, live }, results) {
  const declared = results.find((each) => each.name === result);
  const { type, meaning } = declared.values.find((each) => each.name === column);
  const compared = declared.values.filter((each) => each.compared);
  const others = results.filter((each) => live.includes(each.name) && each.name !== result && (key === null || each.key.includes(key)));
  return {
    result, column, key, personal: declared.pseudonyms.includes(key), meaning, others, compared, columns: declared.key, layers: declared.layers,
    scale: scaleOf(type), size: millis(declared.window.size),
  };
}

// How much event time is shown. An hour of it, but so few windows that a line of them can be told apart and fetched every
// two seconds, and so many that a line is one.
const FEWEST = 24;
const MOST = 180;
const STRETCHES = [DAY, HOUR, 15 * MINUTE, 5 * MINUTE, MINUTE];

// The newest of the shown windows holds the high-water mark; an hour need not be a whole number of windows. `stretch` is the
// longest round time that fits and is more than a window: sums are told for it, none where windows are too long or too short.
// `asked` is where the rows have to begin: the stream may be behind, and its newest window in the stretch before.
export function shownTime(highWater, size) {
  const count = Math.min(MOST, Math.max(FEWEST, Math.ceil(HOUR / size)));
  const newest = floor(highWater, size);
  const first = newest - (count - 1) * size;
  const stretch = STRETCHES.find((each) => each <= count * size && each > size) ?? null;
  return { first, newest, size, count, span: count * size, stretch, asked: floor(first, stretch ?? size) };
}

// An answer without the windows before that time.
export const within = (answer, { first }) =>
  answer && { ...answer, rows: answer.rows.filter((row) => Date.parse(row.window_start) >= first) };

const windowOf = (row, { size }) => floor(Date.parse(row.window_start), size);

// What the stream has for each key in its newest window, and in the stretch of the clock that this window starts in; of the
// other results, how many rows of the key begin in that stretch, and whether one begins in that window.
export function board({ key, column, scale }, rows, others, time) {
  const newest = rows.reduce((latest, row) => Math.max(latest, windowOf(row, time)), -Infinity);
  if (newest < time.first) return null;
  const since = floor(newest, time.stretch ?? time.size);
  const lines = new Map();
  const line = (row) => {
    const name = key === null ? null : row[key];
    if (!lines.has(name)) lines.set(name, { name, window: 0n, stretch: 0n, others: others.map(() => ({ rows: 0, now: false })) });
    return lines.get(name);
  };
  for (const row of rows) {
    if (windowOf(row, time) < since) continue;
    const value = units(row[column], scale);
    line(row).stretch += value;
    if (windowOf(row, time) === newest) line(row).window += value;
  }
  others.forEach((each, place) => {
    for (const row of each) {
      const begins = windowOf(row, time);
      if (!(begins >= since)) continue;
      const counted = line(row).others[place];
      counted.rows += 1;
      if (begins === newest) counted.now = true;
    }
  });
  return { newest, since, lines: [...lines.values()] };
}

const descending = (a, b) => (a < b ? 1 : a > b ? -1 : 0);

export function ranked(lines, first) {
  const second = first === "window" ? "stretch" : "window";
  return [...lines].sort((a, b) => descending(a[first], b[first]) || descending(a[second], b[second]) || descending(b.name, a.name));
}

// A value may be a list. What only estimates may be off by a share of the greater one.
const alike = (one, other, error) =>
  JSON.stringify(one) === JSON.stringify(other) ||
  (error > 0 && one !== null && other !== null && Math.abs(one - other) <= error * Math.max(Math.abs(one), Math.abs(other)));

// Cell by cell, over the windows that ended by `until`: a row that only one side has differs as well.
export function compared({ columns, column, scale, compared: judged }, candidate, batch, until) {
  const cell = (row) => JSON.stringify([...columns.map((name) => row[name]), row.window_start]);
  const equal = (one, other) => Boolean(one && other) && judged.every(({ name, error }) => alike(one[name], other[name], error));
  const ended = (row) => Date.parse(row.window_end) <= until;
  const theirs = new Map(batch.rows.filter(ended).map((row) => [cell(row), row]));
  const mine = new Map(candidate.rows.filter(ended).map((row) => [cell(row), row]));
  const cells = [...new Set([...theirs.keys(), ...mine.keys()])].map((key) => {
    const [one, other] = [mine.get(key), theirs.get(key)];
    const off = units(one?.[column], scale) - units(other?.[column], scale);
    return { key, row: one ?? other, has: Boolean(one), equal: equal(one, other), off };
  });
  return { until, cells, differing: cells.filter((each) => !each.equal) };
}

// What became of the cells, by the fate of each, and by how much those that differ do.
export function tally(cells, fate) {
  const by = { equal: 0, differs: 0, repaired: 0, unknown: 0 };
  for (const each of cells.cells) by[fate(each)] += 1;
  const moved = cells.cells.reduce((sum, each) => (fate(each) === "differs" ? sum + magnitude(each.off) : sum), 0n);
  return { ...by, compared: by.equal + by.differs, moved, until: cells.until };
}

// Up to where a layer can be compared: settled in both, and computed by batch without a gap.
export function comparableUntil(candidate, batch, cutOff) {
  const ends = [candidate.settled_before, batch.settled_before, cutOff].filter(Boolean);
  return Math.min(...ends.map((each) => Date.parse(each)));
}

function added(values) {
  const found = new Map();
  for (const [start, value] of values) found.set(start, (found.get(start) ?? 0n) + value);
  return found;
}

const starts = ({ first, size, count }) => Array.from({ length: count }, (_, place) => first + place * size);

// The sums over all keys per window. A layer that is behind has no sum for windows that it has not come to.
export function sums({ column, scale }, answer, time, behind) {
  const found = added(answer.rows.map((row) => [windowOf(row, time), units(row[column], scale)]));
  const last = behind ? [...found.keys()].reduce((latest, start) => Math.max(latest, start), -Infinity) : time.newest;
  return starts(time).map((start) => (start <= last ? (found.get(start) ?? 0n) : null));
}

// The difference to batch per window, over the cells that were judged; none where nothing was.
export function offsets(comparison, judged, time) {
  const found = added(comparison.cells.filter(judged).map((each) => [windowOf(each.row, time), each.off]));
  return starts(time).map((start) => (start + time.size <= comparison.until ? (found.get(start) ?? 0n) : null));
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
