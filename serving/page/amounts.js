// Amounts of the charted column, exact: whole numbers of the last place that its type has. The API sends decimals as texts
// ("12.50"), because a number of JavaScript cannot hold all of them; added up as texts they would be "12.5012.50".

// How many digits stand behind the point: what "decimal(38,2)" says, none for whole numbers.
export const scaleOf = (type) => Number(/^decimal\(\d+,\s*(\d+)\)$/.exec(type)?.[1] ?? 0);

// A value of the API in units of its last place; what is null adds nothing.
export function units(value, scale) {
  if (value === null || value === undefined) return 0n;
  const [whole, fraction = ""] = String(value).split(".");
  return BigInt(whole + fraction.padEnd(scale, "0").slice(0, scale));
}

// For drawing, where the nearest number is near enough.
export const plain = (amount, scale) => Number(amount) / 10 ** scale;

const grouped = new Intl.NumberFormat("en-US");

// As people read it, with all the digits of its scale.
export function amount(value, scale) {
  const digits = String(magnitude(value)).padStart(scale + 1, "0");
  const whole = grouped.format(BigInt(digits.slice(0, digits.length - scale)));
  const fraction = scale ? `.${digits.slice(-scale)}` : "";
  return `${value < 0n ? "-" : ""}${whole}${fraction}`;
}

export const signedAmount = (value, scale) => (value > 0n ? "+" : value < 0n ? "−" : "") + amount(magnitude(value), scale);

export const magnitude = (value) => (value < 0n ? -value : value);
