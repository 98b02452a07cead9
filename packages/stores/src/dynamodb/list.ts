import { type AttributeValue, type DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import {
  dueStart,
  isByDue,
  type StoredTextRecord,
  type StoreSelected,
  type StoreSelection,
} from "@durable-mcp/core/store-driver";
import { printTime } from "../base/key-text.ts";
import { answered, withSignal } from "./answers.ts";
import {
  dueMark,
  type DynamoDbItem,
  type DynamoDbPlaces,
  ownerHash,
  readRecord,
  shardName,
  startOf,
} from "./item.ts";

/**
 * Reads one page, one shard after the other, each in the order of a sort key. Local indexes have consistent
 * reads, and fetch the rest of an item themselves.
 */
export async function listFromDynamoDb(
  client: DynamoDBClient,
  places: DynamoDbPlaces,
  selection: StoreSelection,
  now: number,
  signal: AbortSignal | undefined,
): Promise<StoreSelected> {
  const { prefix, idleSince, after, limit } = selection;
  const { attribute, condition, bounds } = await rangeOf(selection);
  const filters = ["(attribute_not_exists(expires_at) OR expires_at > :now)"];
  const values: DynamoDbItem = { ...bounds, ":now": { N: String(now) } };
  if (prefix !== "") {
    filters.push("begins_with(full_key, :prefix)");
    values[":prefix"] = { S: prefix };
  }
  if (idleSince !== undefined) {
    filters.push("last_used_at <= :idle");
    values[":idle"] = { N: String(idleSince) };
  }
  const found: { record: StoredTextRecord; end: readonly [number, string] }[] = [];
  const first = after?.[0] ?? 0;
  for (let shard = first; shard < places.shards && found.length <= limit; shard += 1) {
    const name = shardName(places, shard);
    let start = shard === first && after ? startKey(name, attribute, after[1]) : undefined;
    let looks = limit + 1 - found.length;
    do {
      const command = new QueryCommand({
        TableName: places.table,
        IndexName: attribute === "sort_key" ? undefined : attribute,
        Select: "ALL_ATTRIBUTES",
        ConsistentRead: true,
        KeyConditionExpression: `store_shard = :shard AND ${condition}`,
        FilterExpression: filters.join(" AND "),
        ExpressionAttributeValues: { ...values, ":shard": name },
        ExclusiveStartKey: start,
        Limit: looks,
      });
      const answer = await answered(client.send(command, withSignal(signal)));
      for (const item of answer.Items ?? []) {
        const record = readRecord(item, now);
        if (record) found.push({ record, end: [shard, item[attribute]!.S!] });
      }
      start = answer.LastEvaluatedKey;
      // Where few match, many are looked at.
      looks = Math.min(2 * looks, 1_000);
    } while (start !== undefined && found.length <= limit);
  }
  const page = found.slice(0, limit);
  return {
    records: page.map(({ record }) => record),
    end: found.length > limit ? page.at(-1)!.end : undefined,
  };
}

/** The sort key of the table or of one of its indexes, the condition on it, and the bounds of the condition. */
async function rangeOf(selection: StoreSelection) {
  const { prefix, owner, idleSince } = selection;
  const start = `:${startOf(prefix)}`;
  if (owner !== undefined) return beginsWith("by_owner", (await ownerHash(owner)) + start);
  if (idleSince === undefined) return beginsWith("sort_key", start);
  const isDue = isByDue(selection);
  const mayBeDue = isDue || dueStart.startsWith(prefix);
  return {
    attribute: "by_use" as const,
    condition: "by_use BETWEEN :from AND :to",
    bounds: {
      ":from": { S: mayBeDue ? dueMark : "0" },
      // The least text after this time and a colon.
      ":to": { S: `${isDue ? dueMark : ""}${printTime(idleSince)};` },
    },
  };
}

function beginsWith(attribute: "sort_key" | "by_owner", bound: string) {
  const condition = `begins_with(${attribute}, :bound)`;
  return { attribute, condition, bounds: { ":bound": { S: bound } } };
}

/** A position in an index names the item, too. There is no colon before its sort key. */
function startKey(shard: AttributeValue, attribute: string, at: string): DynamoDbItem {
  return { store_shard: shard, [attribute]: { S: at }, sort_key: { S: at.slice(at.indexOf(":")) } };
}
