// Numbers and times as people read them, the same way as in the report.
export const MINUTE = 6e4;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const UNITS = { millisecond: 1, second: 1e3, minute: MINUTE, hour: HOUR, day: DAY };

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export const LAYERS = { kappa: "Stream", batch: "Batch", legacy: "Control" };

export const number = (value) => whole.format(value);

export const count = (value, noun, plural) => `${number(value)} ${value === 1 ? noun : plural ?? noun + "s"}`;

// A percentage that says 0 and 100 only where it is exactly that.
export function share(part, all) {
  if (!all) return "–";
  const percent = (100 * part) / all;
  if (percent === 0 || percent === 100) return `${percent} %`;
  if (percent < 0.1) return "< 0.1 %";
  return percent > 99.9 ? "> 99.9 %" : `${percent.toFixed(1)} %`;
}

// A length of time that ticks calmly: two units at most.
export function lasting(seconds) {
  const all = Math.max(0, Math.floor(seconds));
  const two = (n) => String(n).padStart(2, "0");
  if (all < 60) return `${all} s`;
  if (all < 3600) return `${Math.floor(all / 60)} min ${two(all % 60)} s`;
  if (all < 172800) return `${Math.floor(all / 3600)} h ${two(Math.floor((all % 3600) / 60))} min`;
  return count(Math.floor(all / 86400), "day");
}

export const ago = (millis) => `${lasting((Date.now() - millis) / 1000)} ago`;

// Always UTC, as the data is.
const iso = (millis) => new Date(millis).toISOString();
const date = (millis, more) =>
  new Date(millis).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC", ...more });
export const second = (millis) => iso(millis).slice(11, 19);
export const day = (millis) => date(millis, { year: "numeric" });

// How moments are written that are a multiple of `step` apart: as short as tells them from one another over so long a `span`.
export function clock(step, span = step) {
  if (step % DAY === 0) return (millis) => date(millis);
  const end = step % MINUTE === 0 ? 16 : step % 1e3 === 0 ? 19 : 23;
  const time = (millis) => iso(millis).slice(11, end);
  return span > DAY ? (millis) => `${date(millis)} ${time(millis)}` : time;
}

// A name of the declarations as people read it: "room_id" is a room.
export const words = (name) => name.replaceAll("_", " ");
export const noun = (column) => words(column.replace(/(?<=.)_id$/, ""));
export const sentence = (said) => said.charAt(0).toUpperCase() + said.slice(1);

// "1 minute", "1 hour 30 minutes" in milliseconds.
export function millis(text) {
  const parts = [...text.matchAll(/(\d+)\s*(millisecond|second|minute|hour|day)s?/g)];
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit], 0);
}

// The other way round, in the largest unit that divides it: "5 seconds", "1 minute".
export function length(time) {
  const [unit, one] = Object.entries(UNITS).reverse().find(([, each]) => time % each === 0);
  return count(time / one, unit);
}

// The same after "per" and "the last": a minute, not 1 of them.
export const period = (time) => length(time).replace(/^1 /, "");

export const listed = (parts) => (parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts.join(""));
