// The layers over event time as SVG: what each says above, the difference to batch below. Colours are CSS classes, so
// light and dark need nothing here. Batch is drawn first and broad: a layer that agrees runs inside that line.
import { svg } from "./dom.js";
import { DAY, HOUR, MINUTE, clock } from "./words.js";

const TOP = 8;
const GAP = 26;
const AXIS = 22;
const LEFT = 52;
const RIGHT = 6;

const EVERY = [1e3, 5e3, 15e3, 30e3, MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 7 * DAY];

// Steps of 1, 2 or 5 times a power of ten, none finer than `least`, and how they are written.
function ticks(low, high, wanted, least) {
  const rough = (high - low) / wanted || least;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(least, [1, 2, 5, 10].map((n) => n * power).find((each) => each >= rough));
  const places = [];
  for (let place = Math.ceil(low / step); place * step <= high; place += 1) places.push(place * step);
  const fraction = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const large = Math.max(-low, high) >= 1e6;
  const digits = large ? { notation: "compact", maximumSignificantDigits: 4 } : { minimumFractionDigits: fraction, maximumFractionDigits: fraction };
  const format = new Intl.NumberFormat("en-US", digits);
  const sign = (value, plus) => (value > 0 ? plus : value < 0 ? "−" : "");
  return places.map((value) => ({ value, said: (plus) => sign(value, plus) + format.format(Math.abs(value)) }));
}

// The moments under the chart: as many as have room beside one another.
function moments({ first, newest, size, span }, width) {
  const room = (every) => (every % MINUTE ? 70 : 52);
  const every = EVERY.find((each) => (span / each) * room(each) < width) ?? span;
  const [time, date] = [clock(every % DAY ? every : MINUTE), clock(DAY)];
  const out = [];
  for (let at = Math.ceil(first / every) * every; at <= newest + size; at += every) {
    out.push([at, span > DAY && at % DAY === 0 ? date(at) : time(at)]);
  }
  return out;
}

function scale(low, high, from, to) {
  const length = high - low || 1;
  return (value) => from + ((value - low) / length) * (to - from);
}

// Windows are stretches, not points: each is a level piece of its line.
function steps(values, left, right, y) {
  let path = "";
  values.forEach((value, place) => {
    if (value === null) return;
    const joined = place > 0 && values[place - 1] !== null;
    path += `${joined ? "L" : "M"}${left(place)} ${y(value)}L${right(place)} ${y(value)}`;
  });
  return path;
}

export function draw(holder, { time, sums, offsets, repaired, compared, settled, scale: digits, label }) {
  const width = Math.max(holder.clientWidth, 240);
  const [upper, lower] = width < 560 ? [190, 78] : [262, 100];
  const height = TOP + upper + GAP + lower + AXIS;
  const end = time.newest + time.size;
  const unit = 10 ** -digits;
  const x = scale(time.first, end, LEFT, width - RIGHT);
  const left = (place) => x(time.first + place * time.size).toFixed(1);
  const right = (place) => x(time.first + (place + 1) * time.size).toFixed(1);
  const all = Object.values(sums).flat().filter((value) => value !== null);
  const [low, high] = [Math.min(0, ...all), 1.04 * Math.max(unit, ...all)];
  const y = scale(low, high, TOP + upper, TOP);
  const floor = TOP + upper + GAP;
  const off = Object.values(offsets).flat().filter((value) => value !== null);
  const [least, most] = [Math.min(-unit, ...off), Math.max(unit, ...off)];
  const z = scale(least, most, floor + lower, floor);

  const parts = [];
  const zone = (from, to, more) => {
    if (to > from) parts.push(svg("rect", { ...more, x: x(from), y: TOP, width: x(to) - x(from), height: floor + lower - TOP }));
  };
  const hatch = { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  parts.push(svg("defs", null, svg("pattern", hatch, svg("rect", { class: "flight", width: 2.5, height: 7 }))));
  zone(compared, settled, { fill: "url(#hatch)" });
  zone(settled, end, { class: "flight" });
  for (const each of ticks(low, high, 4, unit)) parts.push(...line(each.value, y, width, each.said("")));
  for (const each of ticks(least, most, 4, unit)) parts.push(...line(each.value, z, width, each.said("+")));
  for (const [at, said] of moments(time, width - LEFT)) {
    const anchor = x(at) > width - 24 ? "end" : "middle";
    parts.push(svg("text", { class: "tick", x: x(at), y: height - 6, "text-anchor": anchor }, said));
  }
  parts.push(svg("text", { class: "zone", x: LEFT, y: floor - 7 }, "difference to batch"));
  for (const layer of ["batch", "legacy", "kappa"]) {
    if (sums[layer]) parts.push(svg("path", { class: `line ${layer}`, d: steps(sums[layer], left, right, y) }));
  }
  const zero = z(0);
  (offsets.legacy ?? []).forEach((value, place) => {
    if (!value) return;
    const top = Math.min(z(value), zero);
    const bar = { x: Number(left(place)) + 0.5, width: Math.max(1, right(place) - left(place) - 1), y: top };
    parts.push(svg("rect", { class: "bar legacy", ...bar, height: Math.max(1, Math.abs(z(value) - zero)) }));
  });
  if (offsets.kappa) parts.push(svg("path", { class: "line kappa", d: steps(offsets.kappa, left, right, z) }));
  for (const place of repaired) {
    const middle = (Number(left(place)) + Number(right(place))) / 2;
    parts.push(svg("circle", { class: "repaired", cx: middle, cy: zero, r: 4 }));
  }
  const here = svg("rect", { class: "here", y: TOP, height: floor + lower - TOP, width: 0, x: 0 });
  const size = { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label };
  holder.replaceChildren(svg("svg", size, parts, here));
  return {
    at: (pixel) => Math.floor((pixel - LEFT) / ((width - RIGHT - LEFT) / (sums.kappa ?? sums.batch).length)),
    mark: (place) => {
      here.setAttribute("x", place === null ? 0 : left(place));
      here.setAttribute("width", place === null ? 0 : right(place) - left(place));
    },
  };
}

function line(value, y, width, said) {
  const at = y(value);
  return [
    svg("line", { class: value === 0 ? "zero" : "grid", x1: LEFT, x2: width - RIGHT, y1: at, y2: at }),
    svg("text", { class: "tick", x: LEFT - 7, y: at + 4, "text-anchor": "end" }, said),
  ];
}
