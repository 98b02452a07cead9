import type { StoredRecord } from "@durable-mcp/core";
import type { PostgresStore } from "../src/postgres.ts";

/** Names with all that could end a text in SQL. */
export const oddNames = { schema: "odd 'schema\\", table: "odd'\"$$\\table$1;é" };

/** All create the same new table at once. Returns one record of each. */
export async function createAtOnce(
  stores: readonly PostgresStore[],
): Promise<readonly StoredRecord[]> {
  await Promise.all(stores.flatMap((store) => [store.createTables(), store.createTables()]));
  await Promise.all(stores.map((store, n) => store.put(`${n}`, n, null, { owner: "o" })));
  return (await stores[0]!.list({ owner: "o", limit: stores.length + 1 })).records;
}
