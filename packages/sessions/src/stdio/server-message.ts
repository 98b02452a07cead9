import { isRecord } from "@durable-mcp/core/internal";

/** Why a line is dropped: what is wrong with it. */
export const dropReasons = {
  "not-a-message": "is no valid JSON-RPC message",
  "too-long": "is longer than 64 MiB",
  "too-complex": "has more than 1,000 levels, or more than two million values",
  // Too many requests of the server wait for an answer already, or one with the same id.
  "too-many": "is no answer",
};
export type DropReason = keyof typeof dropReasons;

/** JSON-RPC's members, of any type but those that make it a message. */
export interface ServerMessage {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** A value nested deeper than this is of no use: JavaScript cannot print a few thousand levels. */
const maxLevels = 1_000;
/** As many empty objects take some 200 MB of memory. */
const maxValues = 2_000_000;

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

export function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

/** Whether a JSON text has too many levels or values to be parsed. Needs no stack, and no memory. */
export function isTooComplex(json: Buffer): boolean {
  let [levels, values, texts] = [0, 0, 0];
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) {
      at = endOfText(json, at);
      texts += 1;
      // A text that has no end, or more than keys and values: it is no JSON, which the parser sees faster.
      if (at === -1 || texts > 2 * values + 1) return false;
    } else if (byte === comma) {
      values += 1;
    } else if (byte === openList || byte === openObject) {
      levels += 1;
      values += 1;
    } else if (byte === closeList || byte === closeObject) {
      levels -= 1;
    }
    if (levels > maxLevels || values > maxValues) return true;
  }
  return false;
}

/** The index of the quote that ends the text which begins at `start`; -1 without one. */
function endOfText(json: Buffer, start: number): number {
  for (let end = start; (end = json.indexOf(quote, end + 1)) !== -1;) {
    let before = end - 1;
    while (json[before] === backslash) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return -1;
}

/**
 * The messages on a line, one or a batch. What is not a message is left out.
 *
 * @returns also whether something was left out
 */
export function parseLine(line: Buffer): { messages: ServerMessage[]; isWhole: boolean } {
  const items = parseItems(line);
  const messages = items.filter(isMessage);
  return { messages, isWhole: messages.length > 0 && messages.length === items.length };
}

/** Forgives a byte order mark, as clients do. */
const decoder = new TextDecoder();
/** No message is shorter, in bytes. */
const minLength = '{"jsonrpc":"2.0"}'.length;

/** Whether a line may be a message. A parser's error takes ten times as long as a message. */
function mayBeMessage(line: Buffer): boolean {
  const first = line[line.findIndex((byte) => byte > 0x20)];
  return line.length > minLength && (first === openObject || first === openList || first === 0xef);
}

function parseItems(line: Buffer): unknown[] {
  if (!mayBeMessage(line)) return [];
  try {
    const value: unknown = JSON.parse(decoder.decode(line));
    return Array.isArray(value) ? value : [value];
  } catch {
    return [];
  }
}

function isMessage(value: unknown): value is ServerMessage {
  if (!isRecord(value)) return false;
  const { jsonrpc, id, method } = value;
  const hasId = typeof id === "string" || typeof id === "number";
  if (jsonrpc !== "2.0") return false;
  return typeof method === "string" ? hasId || !("id" in value) : method === undefined && hasId;
}

const space = "[ \\t\\r]*";
const idMember = `"id"${space}:${space}(\\d+|"[^"\\\\]*")`;
const versionMember = `"jsonrpc"${space}:${space}"[^"\\\\]*"`;
const outcome = `"(?:result|error)"${space}:`;
const versionBefore = `(?:${versionMember}${space},${space})?`;
const start = `^\\uFEFF?${space}\\{${space}${versionBefore}`;
const answerByHead = new RegExp(`${start}${idMember}${space},${space}${versionBefore}${outcome}`);
const answerStart = new RegExp(`${start}${outcome}`);
const idAtTail = new RegExp(
  `${idMember}${space}(?:,${space}${versionMember}${space})?\\}${space}$`,
);
const endLength = 512;

/**
 * The id of the request that a dropped line was meant to answer, if the line looks like an answer. Servers
 * print the id as the first or the last member, beside `jsonrpc`.
 */
export function answeredId(head: Buffer, tail: Buffer): string | number | undefined {
  if (!mayBeMessage(head)) return undefined;
  const first = head.subarray(0, endLength).toString();
  const last = tail.subarray(-endLength).toString();
  const match = answerByHead.exec(first) ?? (answerStart.test(first) ? idAtTail.exec(last) : null);
  return match === null ? undefined : (JSON.parse(match[1]!) as string | number);
}
