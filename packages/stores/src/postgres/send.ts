import { hash } from "node:crypto";
import type { PostgresQuery } from "./query.ts";

/** The part of a `Pool` of `pg` that sends queries. */
interface QueryPool {
  query(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: unknown[]; readonly rowCount: number | null }>;
}

/** What a pool of `pg` takes, too. */
interface NamingPool {
  query(query: { name: string; text: string; values: unknown[] }): ReturnType<QueryPool["query"]>;
}

/** So many statements, each short, are kept prepared in each connection at most. */
const maxNames = 64;
const maxTextLength = 3_000;

/**
 * What PostgreSQL says of a statement that is not prepared, or was prepared by another client: a pooler has
 * changed the connection. The last one is for a table that was altered. Nothing was done.
 */
const unprepared = new Set(["26000", "42P05", "0A000"]);

/** Serialization failure and deadlock: nothing was done, and a second try may succeed. */
const retryable = new Set(["40001", "40P01"]);
const maxTries = 10;

export type SendToPostgres = (
  statement: PostgresQuery,
  signal: AbortSignal | undefined,
) => ReturnType<QueryPool["query"]>;

/**
 * Creates the function that sends a query. Statements have names, so each connection parses and plans them once.
 * A name is a hash of the text, so no other text can have it. Behind a pooler that cannot do this, they lose
 * their names with the first refusal.
 */
export function createPostgresSender(pool: QueryPool, isNaming: boolean): SendToPostgres {
  const names = new Map<string, string>();
  let isOn = isNaming;
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known !== undefined) return known;
    if (names.size >= maxNames || text.length > maxTextLength) return undefined;
    const name = `durable_mcp_${hash("sha256", text).slice(0, 32)}`;
    names.set(text, name);
    return name;
  };
  const sendOnce = async ({ text, values, isVaried }: PostgresQuery) => {
    const name = isOn && !isVaried ? nameOf(text) : undefined;
    if (name === undefined) return await pool.query(text, [...values]);
    try {
      return await (pool as unknown as NamingPool).query({ name, text, values: [...values] });
    } catch (error) {
      if (!unprepared.has((error as { code?: string }).code ?? "")) throw error;
      isOn = false;
      return await pool.query(text, [...values]);
    }
  };
  return async (statement, signal) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await sendOnce(statement);
      } catch (error) {
        // With a stricter isolation level, a write fails if another one overtook it.
        const { code = "" } = error as { code?: string };
        if (!retryable.has(code) || tries === maxTries || signal?.aborted) throw error;
      }
    }
  };
}
