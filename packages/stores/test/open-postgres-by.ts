import { neon, neonConfig, Pool } from "@neondatabase/serverless";
import type { OpenedStore } from "@durable-mcp/testing/store";
import postgres from "postgres";
import {
  createPostgresStore,
  type PostgresNames,
  type PostgresStore,
  type PostgresStoreOptions,
} from "../src/postgres.ts";
import { postgresUser } from "./postgres-user.ts";

/** A driver, and the port of what it talks to. */
export interface PostgresDriver {
  readonly driver: keyof typeof drivers;
  readonly port: number;
}

type Connected = PostgresStoreOptions & { readonly end?: () => Promise<void> };

const drivers = {
  "postgres.js": (port: number): Connected => {
    const sql = postgres({
      ...{ host: "127.0.0.1", port, user: postgresUser, database: "postgres" },
      onnotice: () => undefined,
      // As applications have it.
      ...{ transform: postgres.camel, types: { bigint: postgres.BigInt } },
    });
    return {
      query: (text, values) => sql.unsafe(text, values, { prepare: true }),
      async listen(channel, onPayload, onReady) {
        const listening = await sql.listen(channel, onPayload, onReady);
        return () => listening.unlisten();
      },
      end: () => sql.end({ timeout: 1 }),
    };
  },
  "Neon over HTTP": (port: number): Connected => {
    neonConfig.fetchEndpoint = `http://127.0.0.1:${port}/sql`;
    const sql = neon(`postgres://${postgresUser}:secret@neon.example/postgres`);
    return { query: (text, values) => sql.query(text, values) };
  },
  "Neon's pool": (port: number): Connected => {
    neonConfig.wsProxy = `127.0.0.1:${port}`;
    neonConfig.useSecureWebSocket = false;
    neonConfig.pipelineConnect = false;
    const pool = new Pool({
      connectionString: `postgres://${postgresUser}:secret@neon.example/postgres`,
    });
    pool.on("error", () => undefined);
    return { pool, end: () => pool.end() };
  },
};

/** Opens a store by a driver, without its table. */
export function openBy(
  { driver, port }: PostgresDriver,
  names?: PostgresNames,
): OpenedStore & { readonly store: PostgresStore } {
  const { end, ...options } = drivers[driver](port);
  const store = createPostgresStore({ ...options, ...names });
  let ended: Promise<void> | undefined;
  return { store, ...(end && { close: () => (ended ??= end()) }) };
}

export default async function openWithTable(given: PostgresDriver): Promise<OpenedStore> {
  const opened = openBy(given);
  await opened.store.createTables();
  return opened;
}
