import { BatchGetItemCommand, type DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import type { SessionStore } from "@durable-mcp/core";
import { checkKnown, type OptionKinds } from "@durable-mcp/core/internal";
import {
  attemptInStore,
  createDrivenStore,
  type StoreDriver,
  type StoredText,
} from "@durable-mcp/core/store-driver";
import { storeKinds, type StoreOptions } from "./base/store-options.ts";
import { answered, withSignal } from "./dynamodb/answers.ts";
import { primaryKey, readItem } from "./dynamodb/item.ts";
import { listFromDynamoDb } from "./dynamodb/list.ts";
import { createDynamoDbTable } from "./dynamodb/table.ts";
import { createDynamoDbWrites } from "./dynamodb/writes.ts";

/** Options of `createDynamoDbStore`. */
export interface DynamoDbStoreOptions extends StoreOptions {
  /** A `DynamoDBClient` of `@aws-sdk/client-dynamodb`. It stays yours. */
  readonly client: DynamoDBClient;
  readonly table: string;
  /** The partition keys of the store start with it; stores with other prefixes can share a table. @default "mcp-sessions" */
  readonly prefix?: string | undefined;
  /**
   * How many partition keys the records are spread over, 1 to 100. Each holds 10 GB, and takes 1,000 write units
   * and 3,000 read units a second. A list asks each of them. All processes need the same number; with another
   * number, earlier records are not found. @default 4
   */
  readonly shards?: number | undefined;
}

/** A store in DynamoDB. */
export interface DynamoDbStore extends SessionStore {
  /**
   * Creates the table, billed by the request, unless it is there. Waits until it can be used, for two minutes at
   * most, and turns on the removal of expired items. Any number of processes may call it at once.
   *
   * @throws {McpSessionError} `STORE_FAILED`
   */
  createTable(): Promise<void>;
}

/** The longest value, in bytes. An item holds 400 KB with its key, its owner and what is in the indexes. */
const maxBytes = 380_000;

/** How many items one request reads. */
const maxItems = 100;

/** How long `createTable` may take, in milliseconds. */
const creationMs = 120_000;

const kinds: OptionKinds<DynamoDbStoreOptions> = {
  ...{ ...storeKinds, table: "text", prefix: "text", shards: [1, 100] },
  client: { methods: ["send"], is: "a DynamoDBClient of @aws-sdk/client-dynamodb" },
};

/**
 * A store in a DynamoDB table of its own, in one region: a global table's other regions do not see each other's
 * conditions. All reads are consistent, those of lists too, because its two indexes are local ones. Such a table
 * holds 10 GB for each partition key, so `shards` decides how much the store holds.
 *
 * It has neither `batch`, `publish` nor `subscribe`. A value holds 380,000 bytes; a longer one is refused with
 * `STATE_INVALID`. What has expired is absent at once, and DynamoDB removes it within days.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createDynamoDbStore(options: DynamoDbStoreOptions): DynamoDbStore {
  checkKnown(options, kinds, { required: ["client", "table"] });
  const { client, table, prefix = "mcp-sessions", shards = 4 } = options;
  const { timeoutMs = 10_000, onUnreadable, now } = options;
  const places = { table, prefix, shards };

  const getMany = async (
    keys: readonly string[],
    time: number,
    signal?: AbortSignal,
  ): Promise<(StoredText | undefined)[]> => {
    const found = new Map<string | undefined, StoredText | undefined>();
    let rest = await Promise.all([...new Set(keys)].map((key) => primaryKey(places, key)));
    while (rest.length > 0) {
      const asked = { Keys: rest.splice(0, maxItems), ConsistentRead: true };
      const command = new BatchGetItemCommand({ RequestItems: { [table]: asked } });
      const answer = await answered(client.send(command, withSignal(signal)));
      for (const item of answer.Responses?.[table] ?? []) {
        found.set(item["full_key"]?.S, readItem(item, time));
      }
      // An answer holds 16 MB.
      rest = [...(answer.UnprocessedKeys?.[table]?.Keys ?? []), ...rest];
    }
    return keys.map((key) => found.get(key));
  };
  const driver: StoreDriver = {
    name: "DynamoDB",
    timeoutMs,
    maxBytes,
    onUnreadable,
    getMany,
    async get(key, time, signal) {
      const input = { TableName: table, Key: await primaryKey(places, key), ConsistentRead: true };
      const command = new GetItemCommand(input);
      return readItem((await answered(client.send(command, withSignal(signal)))).Item, time);
    },
    ...createDynamoDbWrites(client, places),
    list: (selection, time, signal) => listFromDynamoDb(client, places, selection, time, signal),
  };
  return {
    ...createDrivenStore(driver, now),
    createTable: () =>
      attemptInStore(
        driver.name,
        "createTable",
        ({ signal }) => createDynamoDbTable(client, table, signal!),
        creationMs,
      ),
  };
}
