import { type AttributeValue, type DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import type {
  StoredTextRecord,
  StoreSelected,
  StoreSelection,
} from "@durable-mcp/core/store-driver";
import { printTime } from "../base/key-text.ts";
import { answered, withSignal } from "./answers.ts";
import {
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
  const [attribute, condition, bound] = await rangeOf(selection);
  const filters = ["(attribute_not_exists(expires_at) OR expires_at > :now)"];
  const values: DynamoDbItem = { ":bound": { S: bound }, ":now": { N: String(now) } };
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

/** The sort key of the table or of one of its indexes, the condition on it, and the condition's bound. */
async function rangeOf({ prefix, owner, idleSince }: StoreSelection) {
  const start = `:${startOf(prefix)}`;
  if (owner !== undefined) {
    return ["by_owner", "begins_with(by_owner, :bound)", (await ownerHash(owner)) + start] as const;
  }
  if (idleSince === undefined) return ["sort_key", "begins_with(sort_key, :bound)", start] as const;
  // The least text after this time and a colon.
  return ["by_use", "by_use < :bound", `${printTime(idleSince)};`] as const;
}

/** A position in an index names the item, too. There is no colon before its sort key. */
function startKey(shard: AttributeValue, attribute: string, at: string): DynamoDbItem {
  return { store_shard: shard, [attribute]: { S: at }, sort_key: { S: at.slice(at.indexOf(":")) } };
}
