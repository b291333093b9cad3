// Elements without markup in strings: whatever comes from the data is put in as text, so an id that is HTML stays an id.
export const by = (id) => document.getElementById(id);

function make(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const el = (name, attributes, ...children) => make(document.createElement(name), attributes, children);

const SVG = "http://www.w3.org/2000/svg";
export const svg = (name, attributes, ...children) => make(document.createElementNS(SVG, name), attributes, children);

// Nothing is touched that stays as it is: selections survive, and a screen reader hears only what is new.
export function text(element, value) {
  if (element.textContent !== value) element.textContent = value;
}

export function fill(element, ...children) {
  const made = make(document.createDocumentFragment(), null, children);
  const holder = document.createElement("div");
  holder.append(made);
  if (holder.innerHTML !== element.innerHTML) element.replaceChildren(...holder.childNodes);
}

// A table in a box of its own, which a keyboard can scroll.
export function table(label, heads, rows) {
  const head = el("tr", null, heads.map((name, place) => el("th", { scope: "col", class: place ? "n" : null }, name)));
  const body = rows.map(([first, ...rest]) =>
    el("tr", null, el("th", { scope: "row" }, first), rest.map((value) => el("td", { class: "n" }, value))),
  );
  const made = el("table", { class: "plain" }, el("thead", null, head), el("tbody", null, body));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, made);
}

// The table behind a chart: made only while it is open.
export function under(details, build) {
  const show = () => {
    const old = details.querySelector(".scroll");
    if (!details.open) return old?.remove();
    const made = build();
    if (old && old.innerHTML !== made.innerHTML) old.replaceChildren(...made.childNodes);
    if (!old) details.append(made);
  };
  details.ontoggle = show;
  show();
}
