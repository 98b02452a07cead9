// What a resumed step of a hundred connections costs in PostgreSQL, with one read of all records and with one of each:
// `npm run lab -- connections`.
import { cpus } from "node:os";
import type { SessionStore } from "@durable-mcp/core";
import { createDurableSessions, defineMcpClientConnection } from "../../ai-sdk/src/index.ts";
import { recordKey, recordOwner } from "../../sessions/src/records/slot-record.ts";
import { createPostgresStore } from "../src/postgres.ts";
import { createPool } from "../test/open-postgres.ts";
import { startPostgres } from "../test/postgres-server.ts";

const count = 100;
const rounds = 40;
const principal = { type: "app" } as const;

const discarded: object[] = [];
const onEvent = (event: { readonly type: string }) => {
  if (event.type === "discarded") discarded.push(event);
};

const server = await startPostgres();
const pool = createPool(server.port);
try {
  const store = createPostgresStore({ pool });
  await store.createTables();
  const names = Array.from({ length: count }, (_, index) => `server-${index}`);
  const definition = defineMcpClientConnection({
    ...{ url: "http://127.0.0.1:1/mcp", description: "A server.", session: "stateful" },
  });
  const connections = Object.fromEntries(names.map((name) => [name, definition]));
  // Records as steps leave them, all of this moment.
  const { url } = definition.options;
  const snapshot = { version: 1, kind: "sessionless", url: String(url), keptAt: Date.now() };
  for (const connection of names) {
    const key = recordKey({ agent: "default", sessionId: "chat", connection }, principal);
    const record = { version: 1, snapshot, savedAt: Date.now(), text: "x".repeat(2_000) };
    await store.put(key, record, null, { owner: recordOwner(principal) });
  }
  const methods = Object.entries(store).filter(([name]) => name !== "getMany");
  const single = Object.fromEntries(methods) as unknown as SessionStore;
  const stores = { "one read": store, "a read for each": single };
  const times = new Map<string, number[]>();
  for (let round = -5; round < rounds; round += 1) {
    for (const [name, each] of Object.entries(stores)) {
      const sessions = createDurableSessions({ connections, store: each, onEvent });
      const before = performance.now();
      const ms = await sessions.run("chat", { principal }, () => performance.now() - before);
      if (round >= 0) times.set(name, [...(times.get(name) ?? []), ms]);
    }
  }
  console.log(
    `${cpus().length} cores, ${process.platform} ${process.arch}, Node ${process.version}`,
  );
  console.log(`A step of ${count} connections until it begins, PostgreSQL, medians of ${rounds}:`);
  for (const [name, all] of times) {
    const median = all.toSorted((a, b) => a - b)[rounds / 2]!;
    console.log(`| ${name} | ${median.toPrecision(3)} ms |`);
  }
} finally {
  await pool.end();
  await server.remove();
}
