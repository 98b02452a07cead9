import { hash } from "node:crypto";
import { invalidOption } from "@durable-mcp/core/internal";
import type { PostgresQuery, PostgresValue } from "./query.ts";

/** The part of a `Pool` of `pg` that the store needs. */
export interface PostgresPool {
  /** Runs one statement. */
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>;
}

/** Runs one statement with values for `$1` and so on, and returns its rows as objects by column name. */
export type QueryPostgres = (text: string, values: PostgresValue[]) => PromiseLike<unknown[]>;

/** What a pool of `pg` takes, too. */
interface NamingPool {
  query(query: PostgresQuery & { name: string }): ReturnType<PostgresPool["query"]>;
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

/** Sends a query, and returns its rows. */
export type SendToPostgres = (query: PostgresQuery, signal?: AbortSignal) => Promise<unknown[]>;

/**
 * Sends through a pool of `pg`. Statements have names, so each connection parses and plans them once. A name is
 * a hash of the text, so no other text can have it. Behind a pooler that cannot do this, they lose their names
 * with the first refusal.
 */
export function sendThroughPool(pool: PostgresPool, isNaming: boolean): SendToPostgres {
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
  return async ({ text, values, isVaried }) => {
    const name = isOn && !isVaried ? nameOf(text) : undefined;
    if (name === undefined) return (await pool.query(text, [...values])).rows;
    try {
      const query = { name, text, values: [...values] };
      return (await (pool as unknown as NamingPool).query(query)).rows;
    } catch (error) {
      if (!unprepared.has((error as { code?: string }).code ?? "")) throw error;
      isOn = false;
      return (await pool.query(text, [...values])).rows;
    }
  };
}

/** Sends through the function of an application. */
export function sendThroughQuery(query: QueryPostgres): SendToPostgres {
  return async ({ text, values }) => {
    const rows: unknown = await query(text, [...values]);
    // Other answers would read as "there is no row".
    if (Array.isArray(rows) && !rows.some(Array.isArray)) return rows;
    throw invalidOption("query", "must return an array of rows, each an object by column name");
  };
}

/** Repeats what failed only because another write was in its way, which a stricter isolation level does. */
export function withRetries(send: SendToPostgres): SendToPostgres {
  return async (query, signal) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await send(query, signal);
      } catch (error) {
        const { code = "" } = error as { code?: string };
        if (!retryable.has(code) || tries === maxTries || signal?.aborted) throw error;
      }
    }
  };
}
