// The public API, asked as any client asks it. The browser's own cache sends If-None-Match.
const LONGEST = 10_000;
const KEPT = "parity-token";

export class TokenWanted extends Error {}

export class NotThere extends Error {}

let token = null;
try {
  token = sessionStorage.getItem(KEPT);
} catch {
  // Storage may be forbidden; the token then lasts as long as the page.
}

export const hasToken = () => token !== null;

export function useToken(given) {
  token = given;
  try {
    if (given === null) sessionStorage.removeItem(KEPT);
    else sessionStorage.setItem(KEPT, given);
  } catch {
    // as above
  }
}

// A parameter that is a list is given once for each of its values.
export async function get(path, parameters = {}) {
  const given = Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((each) => [name, each]));
  const query = new URLSearchParams(given.filter(([, value]) => value !== null && value !== undefined)).toString();
  const headers = { Accept: "application/json", ...(token === null ? {} : { Authorization: `Bearer ${token}` }) };
  const answer = await fetch(query ? `${path}?${query}` : path, { headers, signal: AbortSignal.timeout(LONGEST) });
  if (answer.ok) return answer.json();
  const said = await answer.json().catch(() => ({}));
  if (answer.status === 401) throw new TokenWanted(said.detail);
  if (answer.status === 404) throw new NotThere(said.detail);
  throw new Error(said.detail ?? `The server answered ${answer.status}.`);
}

// All rows of a result: page by page, every page of the same pinned versions.
export async function rows(name, parameters) {
  const path = `/results/${encodeURIComponent(name)}`;
  const answer = await get(path, { ...parameters, limit: 10000 });
  const found = { ...answer, rows: [...answer.rows] };
  for (let next = answer.next; next !== null; ) {
    const page = await get(path, { ...parameters, limit: 10000, cursor: next });
    found.rows.push(...page.rows);
    next = page.next;
  }
  return found;
}
