import {
  isByDue,
  type StoreSelected,
  type StoreSelection,
  type StoredTextRecord,
} from "@durable-mcp/core/store-driver";
import { endOfPrefix, printTime } from "../base/key-text.ts";

/** One script looks at no more members than this, because Redis does nothing else meanwhile. */
const looksPerScript = 2_000;

/**
 * Reads one page with as many runs of the script `list` as needed. The indexes are sorted sets in which
 * only the byte order of the members counts: keys, owners and keys, times and keys.
 *
 * @param run runs the script with its own arguments
 */
export async function listFromRedis(
  selection: StoreSelection,
  run: (args: readonly string[]) => Promise<unknown>,
): Promise<StoreSelected> {
  const { prefix, idleSince, limit } = selection;
  const range = rangeOf(selection);
  const records: StoredTextRecord[] = [];
  let { min } = range;
  while (records.length <= limit) {
    const reply = (await run([
      ...[range.index, min, range.max, String(range.skippedBytes)],
      ...[String(limit + 1 - records.length), String(looksPerScript)],
      ...[prefix, idleSince === undefined ? "" : String(idleSince)],
    ])) as string[];
    records.push(...readRecords(reply));
    const stoppedAt = reply[0] ?? "";
    if (stoppedAt === "") break;
    min = `(${stoppedAt.slice(1)}`;
  }
  if (records.length <= limit) return { records };
  const page = records.slice(0, limit);
  const last = page[limit - 1]!;
  return { records: page, end: [last.lastUsedAt, last.key] };
}

const byteLength = (text: string) => new TextEncoder().encode(text).length;

/** The index (by its number among the script's keys) and its range for a selection. */
function rangeOf(selection: StoreSelection) {
  const { prefix, owner, idleSince, after } = selection;
  if (owner !== undefined) {
    const start = `${byteLength(owner)}:${owner}`;
    return {
      index: "2",
      min: after === undefined ? `[${start}${prefix}` : `(${start}${after[1]}`,
      max: `(${endOfPrefix(start + prefix)}`,
      skippedBytes: byteLength(start),
    };
  }
  if (idleSince !== undefined) {
    return {
      index: isByDue(selection) ? "5" : "3",
      min: after === undefined ? "-" : `(${printTime(after[0])}${after[1]}`,
      max: `(${printTime(idleSince + 1)}`,
      skippedBytes: 16,
    };
  }
  const end = endOfPrefix(prefix);
  return {
    index: "1",
    min: after === undefined ? `[${prefix}` : `(${after[1]}`,
    max: end === undefined ? "+" : `(${end}`,
    skippedBytes: 0,
  };
}

function readRecords(reply: readonly string[]): StoredTextRecord[] {
  const records: StoredTextRecord[] = [];
  for (let at = 1; at < reply.length; at += 6) {
    const [key, text, revision, owner, lastUsedAt, expiresAt] = reply.slice(at, at + 6);
    records.push({
      key: key!,
      text: text!,
      revision: revision!,
      owner: owner!,
      lastUsedAt: Number(lastUsedAt),
      expiresAt: expiresAt === "" ? undefined : Number(expiresAt),
    });
  }
  return records;
}
