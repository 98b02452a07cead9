import { createPostgresStore, type PostgresPool } from "@durable-mcp/stores/postgres";
import { CommandFailure } from "../output/command-failure.ts";
import { loadDriver } from "./load-driver.ts";
import { noTable } from "./open-sqlite.ts";
import type { StorePlace } from "./place.ts";

interface Driver {
  readonly default: {
    readonly Pool: new (options: object) => PostgresPool & {
      on(event: "error", listener: () => void): void;
      end(): Promise<void>;
    };
  };
}

/** Opens a table of PostgreSQL that is there. It makes none. */
export async function openPostgres(
  address: string,
  { schema, table = "mcp_sessions" }: { readonly schema?: string; readonly table?: string },
): Promise<StorePlace> {
  const { default: pg } = await loadDriver<Driver>("pg", "PostgreSQL");
  const pool = new pg.Pool({ connectionString: address, max: 4, connectionTimeoutMillis: 10_000 });
  // A connection that breaks while it is not in use; the next query says more.
  pool.on("error", () => undefined);
  const store = createPostgresStore({ pool, schema, table, listen: false });
  const close = () => pool.end();
  try {
    await store.list({ limit: 1 });
  } catch (error) {
    await close();
    const { code } = ((error as Error).cause ?? {}) as { code?: unknown };
    if (code === "42P01") throw noTable(table);
    throw new CommandFailure(`--store: ${(error as Error).message}`);
  }
  return { store, name: `the PostgreSQL table ${table}`, close };
}
