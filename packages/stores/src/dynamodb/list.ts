import { type DynamoDBClient, QueryCommand } from "@aws-sdk/client-dynamodb";
import type {
  StoredTextRecord,
  StoreSelected,
  StoreSelection,
} from "@durable-mcp/core/store-driver";
import { answered, withSignal } from "./answers.ts";
import {
  type DynamoDbItem,
  type DynamoDbPlaces,
  ownerHash,
  printTime,
  readRecord,
  shardName,
  startOf,
} from "./item.ts";

interface DynamoDbRange {
  /** The sort key of the table or of its index, and the condition on it. */
  readonly attribute: "sort_key" | "by_owner" | "by_use";
  readonly condition: string;
  readonly bound: string;
  /** How many characters its values have before the sort key. */
  readonly skipped: number;
}

/**
 * Reads one page, one shard after the other, each in the order of the range's sort key. Local indexes have
 * consistent reads, and fetch the rest of an item themselves.
 */
export async function listFromDynamoDb(
  client: DynamoDBClient,
  { table, ...places }: DynamoDbPlaces & { readonly table: string },
  selection: StoreSelection,
  now: number,
  signal: AbortSignal | undefined,
): Promise<StoreSelected> {
  const { prefix, idleSince, after, limit } = selection;
  const { attribute, condition, bound, skipped } = await rangeOf(selection);
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
  let [shard, from] = after ?? [0, undefined];
  for (; shard < places.shards && found.length <= limit; shard += 1) {
    const name = shardName(places, shard);
    let start: DynamoDbItem | undefined =
      from === undefined
        ? undefined
        : {
            store_shard: name,
            [attribute]: { S: from },
            sort_key: { S: from.slice(skipped) },
          };
    from = undefined;
    let looks = limit + 1 - found.length;
    do {
      const input = {
        TableName: table,
        IndexName: attribute === "sort_key" ? undefined : attribute,
        Select: "ALL_ATTRIBUTES" as const,
        ConsistentRead: true,
        KeyConditionExpression: `store_shard = :shard AND ${condition}`,
        FilterExpression: filters.join(" AND "),
        ExpressionAttributeValues: { ...values, ":shard": name },
        ExclusiveStartKey: start,
        Limit: looks,
      };
      const answer = await answered(client.send(new QueryCommand(input), withSignal(signal)));
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

async function rangeOf({ prefix, owner, idleSince }: StoreSelection): Promise<DynamoDbRange> {
  const start = `:${startOf(prefix)}`;
  if (owner !== undefined) {
    const hash = await ownerHash(owner);
    return { ...beginning("by_owner", hash + start), skipped: hash.length };
  }
  if (idleSince === undefined) return { ...beginning("sort_key", start), skipped: 0 };
  const time = printTime(idleSince);
  // The least text after this time and a colon.
  return {
    attribute: "by_use",
    condition: "by_use < :bound",
    bound: `${time};`,
    skipped: time.length,
  };
}

const beginning = (attribute: "sort_key" | "by_owner", bound: string) => ({
  attribute,
  condition: `begins_with(${attribute}, :bound)`,
  bound,
});
