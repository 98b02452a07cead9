import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import {
  dueStart,
  type StoredText,
  type StoredTextRecord,
  type StoreWrite,
} from "@durable-mcp/core/store-driver";
import { printTime } from "../base/key-text.ts";
import { hexDigest } from "../base/hex-digest.ts";

/** An item of the table, or values of an expression. */
export type DynamoDbItem = Record<string, AttributeValue>;

/** How many bytes of a key its sort key begins with. DynamoDB's hold 1,024, and an owner's hash comes too. */
const startBytes = 800;

/** How long DynamoDB keeps an expired item at least, in seconds. Clocks differ. */
const keptSeconds = 60;

/** Where records are. A store has this many partitions, and a key decides on its own. */
export interface DynamoDbPlaces {
  readonly table: string;
  readonly prefix: string;
  readonly shards: number;
}

export function shardName({ prefix }: DynamoDbPlaces, shard: number): AttributeValue {
  return { S: `${prefix}#${shard}` };
}

/** The primary key of a key's item. */
export async function primaryKey(places: DynamoDbPlaces, key: string): Promise<DynamoDbItem> {
  let hash = 0;
  for (let at = 0; at < key.length; at += 1) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) | 0;
  const shard = (hash >>> 0) % places.shards;
  return { store_shard: shardName(places, shard), sort_key: { S: await sortKey(key) } };
}

/**
 * The key with a colon, because there are no empty sort keys. A long key is cut, and has its hash at the end,
 * so the sort keys of all keys with a prefix begin with the start of that prefix.
 */
async function sortKey(key: string): Promise<string> {
  const start = startOf(key);
  return start.length === key.length ? `:${key}` : `:${start}${await hexDigest("SHA-256", key)}`;
}

/** The whole characters in the first bytes of a key or a prefix. */
export function startOf(text: string): string {
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(startBytes)).read);
}

/** Sorts an owner's records together. */
export const ownerHash = (owner: string): Promise<string> => hexDigest("SHA-256", owner);

/** Sorts what is due before all times: a table cannot get another local index. */
export const dueMark = "!";

/** The attributes that tell of the last use. Times have the digits of the largest one. */
export function usedAt(time: number, key: DynamoDbItem): DynamoDbItem {
  const text = key["sort_key"]!.S!;
  const mark = text.startsWith(`:${dueStart}`) ? dueMark : "";
  return { last_used_at: { N: String(time) }, by_use: { S: mark + printTime(time) + text } };
}

/** The attributes that a write sets, but for those of the last use. */
export async function attributesOf(
  { key, owner, text, revision, expiresAt }: StoreWrite,
  primary: DynamoDbItem,
  now: number,
): Promise<DynamoDbItem> {
  const item: DynamoDbItem = {
    full_key: { S: key },
    owner_text: { S: owner },
    json_text: { S: text },
    revision: { S: revision },
    by_owner: { S: (await ownerHash(owner)) + primary["sort_key"]!.S! },
  };
  if (expiresAt === undefined) return item;
  // DynamoDB never removes what expired five years ago.
  const removeAt = Math.ceil(Math.max(expiresAt, now) / 1_000) + keptSeconds;
  return { ...item, expires_at: { N: String(expiresAt) }, remove_at: { N: String(removeAt) } };
}

/** What an item keeps; `undefined` if there is none, it has expired, or it is no record of a store. */
export function readItem(item: DynamoDbItem | undefined, now: number): StoredText | undefined {
  const revision = item?.["revision"]?.S;
  if (revision === undefined || (expiryOf(item) ?? Infinity) <= now) return undefined;
  return { text: item?.["json_text"]?.S ?? "", revision };
}

/** An item as a record of a list. */
export function readRecord(item: DynamoDbItem, now: number): StoredTextRecord | undefined {
  const stored = readItem(item, now);
  const [key, owner, lastUsedAt] = [
    item["full_key"]?.S,
    item["owner_text"]?.S,
    item["last_used_at"]?.N,
  ];
  if (!stored || key === undefined || owner === undefined || !lastUsedAt) return undefined;
  return { ...stored, key, owner, lastUsedAt: Number(lastUsedAt), expiresAt: expiryOf(item) };
}

function expiryOf(item: DynamoDbItem | undefined): number | undefined {
  const expiresAt = item?.["expires_at"]?.N;
  return expiresAt === undefined ? undefined : Number(expiresAt);
}
