import { PGlite } from "@electric-sql/pglite";
import { testSessionStore } from "@durable-mcp/testing/store";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAtOnce, oddNames } from "../test/create-at-once.ts";
import { createPostgresStore, type PostgresNames } from "./postgres.ts";

describe("by PGlite", () => {
  let database: PGlite;
  beforeAll(async () => {
    database = new PGlite();
    await database.exec(`CREATE SCHEMA "${oddNames.schema}"`);
  });
  afterAll(() => database.close());

  const open = (names?: PostgresNames) =>
    createPostgresStore({
      query: async (text, values) => (await database.query(text, values)).rows,
      async listen(channel, onPayload, onReady) {
        const stop = await database.listen(channel, onPayload);
        onReady();
        return stop;
      },
      ...names,
    });

  testSessionStore({
    test,
    async open() {
      const store = open();
      await store.createTables();
      return { store };
    },
    hasConnection: false,
    processes: false,
    async plant(key, text) {
      await database.query("UPDATE mcp_sessions SET value = $1 WHERE key = $2", [text, key]);
    },
  });

  test.each([{ table: "at once" }, oddNames])(
    "creates its table, at once too: %j",
    async (names) => {
      const stores = Array.from({ length: 6 }, () => open(names));
      expect(await createAtOnce(stores)).toHaveLength(6);
    },
  );
});
