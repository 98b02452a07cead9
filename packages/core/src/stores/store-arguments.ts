import { checkWhole, invalidOption } from "../base/check-option.ts";
import { maxValueLength } from "../base/json-values.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { randomToken } from "../base/random-token.ts";
import type { StoreBatchStep, StorePosition, StoreSelection, StoreWrite } from "./driver.ts";
import type {
  JsonValue,
  StoreBatchWrite,
  StoreListQuery,
  StorePutOptions,
} from "./session-store.ts";

/** The longest key, owner and prefix, in characters. */
const maxTextLength = 1_000;
/** The most writes that a store takes in one batch. */
export const maxBatch = 250;

/** Whether a store takes a key, an owner or a prefix. Most databases would change a lone surrogate. */
export function isStoreText(text: unknown): text is string {
  return typeof text === "string" && text.length <= maxTextLength && text.isWellFormed();
}

/**
 * @param field the value's name, for the error
 * @throws {McpSessionError} `STATE_INVALID` for a value that is not JSON, or too long
 */
export function printValue(value: JsonValue, field = "value"): string {
  let text: string | undefined;
  let cause: unknown;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    cause = error;
  }
  if (text !== undefined && text.length <= maxValueLength) return text;
  const message = `${field} must be JSON of at most ${maxValueLength} characters.`;
  throw new McpSessionError("STATE_INVALID", message, { data: { field }, cause });
}

/**
 * @param maxBytes the longest text that the store takes, in bytes of UTF-8
 * @throws {McpSessionError} `STATE_INVALID` for a longer one
 */
export function checkBytes(text: string, maxBytes: number | undefined, field = "value"): void {
  if (maxBytes === undefined || hasBytes(text, maxBytes)) return;
  const message = `${field} must be JSON of at most ${maxBytes} bytes. More does not fit into a record of this store.`;
  throw new McpSessionError("STATE_INVALID", message, { data: { field } });
}

/** Whether a store has refused a value, because it is too long or no JSON. */
export function isTooLong(error: unknown): boolean {
  return McpSessionError.isInstance(error) && error.code === "STATE_INVALID";
}

/** Whether a text has at most so many bytes of UTF-8. A UTF-16 unit has three at most. */
export function hasBytes(text: string, maxBytes: number): boolean {
  if (3 * text.length <= maxBytes) return true;
  return text.length <= maxBytes && new TextEncoder().encode(text).length <= maxBytes;
}

/** @throws {McpSessionError} `CONNECTION_INVALID` for what is no list of 1 to 1000 keys */
export function checkKeys(keys: readonly string[]): void {
  if (!Array.isArray(keys) || keys.length < 1 || keys.length > 1_000)
    throw invalidOption("keys", "must be a list of 1 to 1000 keys");
  for (const [index, key] of keys.entries()) checkStoreText(`keys[${index}]`, key);
}

/** @throws {McpSessionError} `CONNECTION_INVALID` for a text that is no key, owner, prefix or topic */
export function checkStoreText(field: string, text: unknown): void {
  if (isStoreText(text)) return;
  throw invalidOption(field, `must be well-formed text of at most ${maxTextLength} characters`);
}

/**
 * The arguments of a `put`, checked and printed, with a revision of its own.
 *
 * @param path of the write in a batch, with a dot
 * @throws {McpSessionError} `CONNECTION_INVALID` or `STATE_INVALID`
 */
export function readPut(
  key: string,
  value: JsonValue,
  ifRevision: string | null,
  options: StorePutOptions | undefined,
  path = "",
): StoreWrite {
  const { owner, expiresAt, leaveFree, at } = options ?? ({} as StorePutOptions);
  checkStoreText(`${path}key`, key);
  checkStoreText(`${path}owner`, owner);
  if (expiresAt !== undefined) checkWhole(expiresAt, `${path}expiresAt`, 0);
  if (at !== undefined) checkWhole(at, `${path}at`, 0);
  if (ifRevision !== null) checkStoreText(`${path}ifRevision`, ifRevision);
  if (leaveFree !== undefined && !(leaveFree >= 0 && leaveFree <= 1)) {
    throw invalidOption("leaveFree", "must be a number from 0 to 1");
  }
  const text = printValue(value, `${path}value`);
  return { key, text, revision: randomToken(), ifRevision, owner, expiresAt, leaveFree };
}

/** @throws {McpSessionError} `CONNECTION_INVALID` or `STATE_INVALID`, naming the write */
export function readBatch(writes: readonly StoreBatchWrite[]): StoreBatchStep[] {
  if (!Array.isArray(writes) || writes.length < 1 || writes.length > maxBatch) {
    throw invalidOption("writes", `must be a list of 1 to ${maxBatch} writes`);
  }
  const keys = new Set<string>();
  return writes.map((write: StoreBatchWrite, index) => {
    const path = `writes[${index}].`;
    const step = readStep(write, path);
    if (keys.has(step.key)) {
      throw invalidOption(`${path}key`, "must be another key than those of the writes before");
    }
    keys.add(step.key);
    return step;
  });
}

function readStep(write: StoreBatchWrite, path: string): StoreBatchStep {
  if (write?.type === "put") {
    const { key, value, ifRevision, owner, expiresAt } = write;
    return { type: "put", ...readPut(key, value, ifRevision, { owner, expiresAt }, path) };
  }
  if (write?.type !== "delete") throw invalidOption(`${path}type`, 'must be "put" or "delete"');
  const { key, ifRevision } = write;
  checkStoreText(`${path}key`, key);
  if (ifRevision !== undefined) checkStoreText(`${path}ifRevision`, ifRevision);
  return { type: "delete", key, ifRevision };
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function readListQuery({
  prefix = "",
  owner,
  idleSince,
  cursor,
  limit,
}: StoreListQuery): StoreSelection {
  checkStoreText("prefix", prefix);
  if (owner !== undefined) checkStoreText("owner", owner);
  if (idleSince !== undefined) checkWhole(idleSince, "idleSince", 0);
  checkWhole(limit, "limit", 1, 1_000);
  const after = cursor === undefined ? undefined : parsePosition(cursor);
  return { prefix, owner, idleSince, after, limit };
}

function parsePosition(cursor: string): StorePosition {
  try {
    const [number, text, ...others] = JSON.parse(cursor);
    checkWhole(number, "cursor", 0);
    checkStoreText("cursor", text);
    if (others.length === 0) return [number, text];
  } catch {
    // It may come from outside, by way of a link, so the error does not tell what is wrong with it.
  }
  throw invalidOption("cursor", "must be the cursor of the page before");
}
