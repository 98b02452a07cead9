import type { SessionStore } from "@durable-mcp/core";

/** The store that `where` names: a PostgreSQL or Redis URL, a SQLite file; none is this process's memory. */
export async function openStore(where: string | undefined): Promise<SessionStore | undefined> {
  if (where === undefined) return undefined;
  const { createSqliteStore } = await import("@durable-mcp/stores/sqlite");
  return createSqliteStore({ path: where });
}
