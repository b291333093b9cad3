// A settled window that differs from batch may have been repaired by a late event since batch ran. Batch is then behind,
// not wrong, and nobody else either. The history of the window says which: it has a revision of a newer log version.
import { get } from "./api.js";

const AT_ONCE = 12; // the rest is asked in the next turn
const known = new Map();
let knownFor = null;

// For each differing cell: "repaired", "differs", or "unknown" as long as it was not asked.
export async function judged({ result, columns }, differing, stream, batch) {
  if (stream.log_version < batch.log_version) return new Map(differing.map((each) => [each.key, "unknown"]));
  if (stream.log_version === batch.log_version) return new Map(differing.map((each) => [each.key, "differs"]));
  const of = `${result} ${batch.log_version}`;
  if (knownFor !== of) {
    known.clear();
    knownFor = of;
  }
  const open = differing.filter((each) => known.get(each.key) !== "repaired");
  const fresh = open.sort((a, b) => known.has(a.key) - known.has(b.key)); // those first that were never asked
  await Promise.all(fresh.slice(0, AT_ONCE).map((each) => ask(each, result, columns, batch.log_version)));
  return new Map(differing.map((each) => [each.key, known.get(each.key) ?? "unknown"]));
}

async function ask({ key, row, has }, result, columns, version) {
  if (!has) return known.set(key, "differs"); // the stream has no row, so nothing was repaired
  const named = columns.map((name) => row[name]);
  if (named.includes(null)) return known.set(key, "unknown"); // the history cannot be asked for what has no name
  const path = `/results/${encodeURIComponent(result)}/history`;
  const { rows } = await get(path, { key: named, window: row.window_start });
  return known.set(key, rows.some((each) => each.log_version > version) ? "repaired" : "differs");
}
