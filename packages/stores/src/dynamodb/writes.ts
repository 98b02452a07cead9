import {
  DeleteItemCommand,
  type DynamoDBClient,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { StoreDriver } from "@durable-mcp/core/store-driver";
import { isDone, withSignal } from "./answers.ts";
import {
  attributesOf,
  type DynamoDbItem,
  primaryKey,
  usedAt,
  type DynamoDbPlaces,
} from "./item.ts";

const isLive = "(attribute_not_exists(expires_at) OR expires_at > :now)";

const number = (value: number) => ({ N: String(value) });

/** The writes of the DynamoDB store: each is one conditional request, and a put may need a second one. */
export function createDynamoDbWrites(
  client: DynamoDBClient,
  places: DynamoDbPlaces,
): Pick<StoreDriver, "put" | "touch" | "delete"> {
  const update = (
    key: DynamoDbItem,
    item: DynamoDbItem,
    condition: string,
    values: DynamoDbItem,
    signal: AbortSignal | undefined,
    removed = "",
  ): Promise<boolean> => {
    const names = Object.keys(item);
    const input = {
      TableName: places.table,
      Key: key,
      UpdateExpression: `SET ${names.map((name) => `${name} = :${name}`).join(", ")}${removed}`,
      ConditionExpression: condition,
      ExpressionAttributeValues: {
        ...values,
        ...Object.fromEntries(names.map((name) => [`:${name}`, item[name]!])),
      },
    };
    return isDone(client.send(new UpdateItemCommand(input), withSignal(signal)));
  };
  return {
    async put(write, now, signal) {
      const key = await primaryKey(places, write.key);
      const item = await attributesOf(write, key, now);
      const isUsed = { ...item, ...usedAt(now, key) };
      const removed = write.expiresAt === undefined ? " REMOVE expires_at, remove_at" : "";
      const values = { ":now": number(now) };
      if (write.ifRevision === null) {
        const isAbsent = "attribute_not_exists(revision) OR expires_at <= :now";
        return await update(key, isUsed, isAbsent, values, signal, removed);
      }
      const is = `revision = :stored AND ${isLive}`;
      const all = { ...values, ":stored": { S: write.ifRevision } };
      const isOlder = `${is} AND NOT last_used_at > :now`;
      if (await update(key, isUsed, isOlder, all, signal, removed)) return true;
      // It may have been used later than now, which must stay.
      return await update(key, item, `${is} AND last_used_at > :now`, all, signal, removed);
    },
    async touch(name, at, now, signal) {
      const key = await primaryKey(places, name);
      const condition = `attribute_exists(revision) AND ${isLive} AND last_used_at < :last_used_at`;
      await update(key, usedAt(at, key), condition, { ":now": number(now) }, signal);
    },
    async delete(name, ifRevision, now, signal) {
      const input = { TableName: places.table, Key: await primaryKey(places, name) };
      const condition = ifRevision !== undefined && {
        ConditionExpression: `revision = :stored AND ${isLive}`,
        ExpressionAttributeValues: { ":stored": { S: ifRevision }, ":now": number(now) },
      };
      const command = new DeleteItemCommand({ ...input, ...condition });
      return await isDone(client.send(command, withSignal(signal)));
    },
  };
}
