// Numbers and times as people read them, the same way as in the report.
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export const LAYERS = { kappa: "Stream", batch: "Batch", legacy: "Control" };

export const number = (value) => whole.format(value);

export const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "") + number(Math.abs(value));

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
export const minute = (millis) => iso(millis).slice(11, 16);
export const second = (millis) => iso(millis).slice(11, 19);
export const day = (millis) =>
  new Date(millis).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });

const UNITS = { millisecond: 1, second: 1e3, minute: 6e4, hour: 36e5, day: 864e5 };
// "1 minute", "1 hour 30 minutes" in milliseconds.
export function millis(text) {
  const parts = [...text.matchAll(/(\d+)\s*(millisecond|second|minute|hour|day)s?/g)];
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit], 0);
}

export const listed = (parts) => (parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts.join(""));
