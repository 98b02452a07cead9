import type { Command } from "commander";
import { wrongUsage } from "../output/command-failure.ts";

/** The options of each command that looks into a store. */
export interface StoreOptions {
  readonly store?: string;
  readonly table?: string;
  readonly schema?: string;
  readonly prefix?: string;
  readonly keyEnv?: string;
  readonly previousKeyEnv?: string;
  readonly fingerprintKeyEnv?: string;
  readonly json?: true;
}

/** Where a store's address may come from, because other users of a machine can read command lines. */
export const addressVariable = "DURABLE_MCP_STORE";

/** Adds the options that say where the store is, and how it is opened. */
export function addStoreOptions(command: Command): Command {
  return command
    .option(
      "--store <address>",
      `file:PATH, postgres://…, redis://… or libsql://… (or ${addressVariable})`,
    )
    .option("--table <name>", "the table of a SQLite or PostgreSQL store (default: mcp_sessions)")
    .option("--schema <name>", "the schema of a PostgreSQL store")
    .option("--prefix <text>", "the prefix of a Redis store (default: mcp-sessions)")
    .option("--key-env <variable>", "the variable with the key of an encrypted store")
    .option("--previous-key-env <variable>", "the variable with its previous key")
    .option(
      "--fingerprint-key-env <variable>",
      "the variable with its fingerprintKey; to end or answer something in it",
    )
    .option("--json", "print one JSON document");
}

/** For a shell: a server may have any name. */
const quoted = (word: string) =>
  /^[\w@%+=:,./…-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
const lasting = /^(store|table|schema|prefix|\w*[kK]eyEnv|server|headerEnv)$/;

/** A command to type next, with the options of this one that last. An address with a password is left out. */
export function typed(words: readonly string[], options: object, server: readonly string[] = []) {
  const given = Object.entries({ ...options, server }).filter(([name]) => lasting.test(name));
  const flags = given.flatMap(([name, values]: [string, string | object]) =>
    textsOf(values).flatMap((value) => {
      const isSecret = /^\w+:\/\/(.*:.*@|.*password)/i.test(value);
      return [`--${name.replaceAll(/[A-Z]/g, "-$&").toLowerCase()}`, isSecret ? "…" : value];
    }),
  );
  return ["durable-mcp", ...words, ...flags].map(quoted).join(" ");
}

/** What was given for an option: once, several times, or as pairs. */
function textsOf(values: string | object): string[] {
  if (typeof values === "string") return [values];
  if (Array.isArray(values)) return values;
  return Object.entries(values).map(([name, value]) => `${name}=${value}`);
}

/** The address of the store, which may hold a password. */
export function storeAddress({ store }: Pick<StoreOptions, "store">): string {
  const address = store ?? process.env[addressVariable];
  if (address !== undefined && address !== "") return address;
  throw wrongUsage(
    `--store is missing: give it, or set ${addressVariable}, such as --store file:sessions.db`,
  );
}
