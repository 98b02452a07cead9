import { invalid, isRecord } from "@durable-mcp/core/internal";
import * as z from "zod/mini";
import { checkOptions, names, someObject, text } from "../base/check-options.ts";
import type { McpClientConnectionOptions } from "../connection/connection-options.ts";
import type { McpConnection } from "../connection/mcp-connection.ts";
import { checkConnections } from "../provider/check-connections.ts";
import { located } from "./located.ts";
import { readEntry } from "./server-entry.ts";
import type { Variables } from "./variables.ts";

/** How a configuration of MCP servers is read. */
export interface McpServersOptions<OVERRIDES = Partial<McpClientConnectionOptions>> {
  /**
   * The values of `${NAME}`, by name: `process.env`, or only what the configuration may read. They are
   * substituted in `url`, `headers`, `command`, `args`, `env` and `cwd`. @default none
   */
  readonly variables?: Variables | undefined;
  /**
   * Options of the definitions, by the names of entries. They stand in the place of the entry's. `name`
   * gives the connection another name. @default none
   */
  readonly overrides?:
    | Readonly<Record<string, OVERRIDES & { readonly name?: string | undefined }>>
    | undefined;
  /** Fields of entries that are left aside. @default none */
  readonly ignore?: readonly string[] | undefined;
}

/** What makes the definitions. */
interface Definers<CONNECTION> {
  readonly http: (options: any) => CONNECTION;
  /** Left out where there is no Node. */
  readonly stdio?: (options: any) => CONNECTION;
}

const optionsSchema = z.strictObject({
  variables: z.optional(
    z.record(z.string(), z.optional(z.string("must be a string")), "must be an object"),
  ),
  overrides: z.optional(
    z.record(
      z.string(),
      z.intersection(someObject, z.looseObject({ name: z.optional(text) })),
      "must be an object",
    ),
  ),
  ignore: z.optional(names),
});

/** @throws {McpSessionError} `CONNECTION_INVALID`, naming the entry and the field */
export function readMcpServers<CONNECTION extends McpConnection>(
  configuration: unknown,
  options: McpServersOptions<object>,
  define: Definers<CONNECTION>,
): Record<string, CONNECTION> {
  const { variables = {}, overrides = {}, ignore = [] } = checkOptions(optionsSchema, options);
  const { at, entries } = entriesOf(configuration);
  for (const entry of Object.keys(overrides)) {
    if (Object.hasOwn(entries, entry)) continue;
    const field = `overrides${member(entry)}`;
    const known = Object.keys(entries).join(", ");
    throw invalid(field, `${field} is of no entry. The configuration has: ${known}.`);
  }
  const connections = new Map<string, CONNECTION>();
  for (const [entry, value] of Object.entries(entries)) {
    const path = at === "" ? member(entry).replace(/^\./, "") : `${at}${member(entry)}`;
    if (!isRecord(value)) throw invalid(path, `${path} must be an object.`);
    const { name = entry, ...override } = given(
      Object.hasOwn(overrides, entry) && overrides[entry],
    );
    const use = { path, name: entry, variables, ignore, replaced: override };
    const read = readEntry(value, use);
    if (read === undefined) continue;
    const definer = define[read.kind];
    if (definer === undefined) throw needsNode(`${path}.command`);
    const connection = located(
      () => definer({ ...read.options, ...override }),
      (field) => {
        const isOverride = Object.hasOwn(override, field.split(".")[0]!);
        if (isOverride) return `overrides${member(entry)}.${field}`;
        return `${path}.${read.sources[field] ?? field}`;
      },
    );
    checkName(name, connection, { path, entry, isTaken: connections.has(name) });
    connections.set(name, connection);
  }
  return Object.fromEntries(connections);
}

/** The entries of a configuration, and the path to them. */
function entriesOf(configuration: unknown): { at: string; entries: Record<string, unknown> } {
  if (!isRecord(configuration)) {
    const how =
      typeof configuration === "string" ? "the text of a file, parsed with JSON.parse" : "";
    throw invalid("configuration", `configuration must be an object${how && `: ${how}`}.`);
  }
  const [at = "", second] = ["mcpServers", "servers"].filter((name) =>
    Object.hasOwn(configuration, name),
  );
  if (second !== undefined) {
    throw invalid(second, `${second} cannot stand beside ${at}. Keep the one that applies.`);
  }
  const entries = at === "" ? configuration : configuration[at];
  if (!isRecord(entries) || Array.isArray(entries)) {
    throw invalid(at, `${at || "configuration"} must be an object with an entry for each server.`);
  }
  return { at, entries };
}

/** The options that are given. */
function given(override: (object & { name?: string | undefined }) | undefined | false) {
  const entries = Object.entries(override || {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { name?: string };
}

/** `.name`, or `["my name"]`. */
function member(name: string): string {
  return /^[\w-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

interface NameUse {
  readonly path: string;
  readonly entry: string;
  readonly isTaken: boolean;
}

function checkName(name: string, connection: McpConnection, { path, entry, isTaken }: NameUse) {
  if (isTaken) {
    throw invalid(path, `${path}: there are two connections ${name}. ${anotherName(entry)}`);
  }
  try {
    checkConnections({ [name]: connection });
  } catch (error) {
    const rule = (error as Error).message.replace(/^.*?: /s, "");
    throw invalid(path, `${path}: ${rule} ${anotherName(entry)}`);
  }
}

function anotherName(entry: string): string {
  const parts = entry.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const fitting = parts.join("_").replace(/^[\d_]+/, "") || "server";
  return `Rename the entry, or give the connection a name: overrides: { ${JSON.stringify(entry)}: { name: ${JSON.stringify(fitting)} } }.`;
}

function needsNode(field: string) {
  return invalid(
    field,
    `${field} starts a program, which needs Node. Import fromMcpServers from @durable-mcp/ai-sdk/stdio.`,
  );
}
