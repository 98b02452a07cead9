import { McpSessionError } from "@durable-mcp/core";
import { invalid, isRecord } from "@durable-mcp/core/internal";
import * as z from "zod/mini";
import { checkOptions, flag, names, someObject, text } from "../base/check-options.ts";
import type { McpClientConnectionOptions } from "../connection/connection-options.ts";
import type { McpConnection } from "../connection/mcp-connection.ts";

/** How a configuration of MCP servers is read. */
export interface McpServersOptions<OVERRIDES = Partial<McpClientConnectionOptions>> {
  /**
   * The values of `${NAME}`, by name: `process.env`, or only what the configuration may read. They are
   * substituted in `url`, `headers`, `command`, `args`, `env` and `cwd`. @default none
   */
  readonly variables?: Readonly<Record<string, string | undefined>> | undefined;
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

const override = z.intersection(someObject, z.looseObject({ name: z.optional(text) }));
const values = z.record(z.string(), z.optional(z.string("must be a string")), "must be an object");
const optionsSchema = z.strictObject({
  variables: z.optional(values),
  overrides: z.optional(z.record(z.string(), override, "must be an object")),
  ignore: z.optional(names),
});

const texts = z.record(z.string(), z.string("must be a string"), "must be an object");
const types = z.literal(
  ["http", "streamable-http", "streamableHttp", "sse", "stdio"],
  'must be "http", "sse" or "stdio"',
);
const args = z.array(z.string("must be a string"), "must be a list");
const entryFields = {
  ...{ url: text, headers: texts, command: text, args, env: texts, cwd: text },
  ...{ type: types, description: text, disabled: flag },
};
const entrySchema = z.partial(z.strictObject(entryFields));
type Entry = z.infer<typeof entrySchema>;
type Variables = NonNullable<McpServersOptions["variables"]>;
/** Approvals of other clients, which write them into each entry. */
const approvals = ["alwaysAllow", "autoApprove"];

/** What makes the definitions. */
interface Definers<CONNECTION> {
  readonly http: (options: any) => CONNECTION;
  /** Left out where there is no Node. */
  readonly stdio?: (options: any) => CONNECTION;
}

/** @throws {McpSessionError} `CONNECTION_INVALID`, naming the entry and the field */
export function readMcpServers<CONNECTION extends McpConnection>(
  configuration: unknown,
  options: McpServersOptions<object>,
  define: Definers<CONNECTION>,
): Record<string, CONNECTION> {
  const { variables = {}, overrides = {}, ignore = [] } = checkOptions(optionsSchema, options);
  const { at, entries } = entriesOf(configuration);
  const unknown = Object.keys(overrides).find((entry) => !Object.hasOwn(entries, entry));
  if (unknown !== undefined) {
    const field = `overrides.${unknown}`;
    const known = Object.keys(entries).join(", ");
    throw invalid(field, `${field} is of no entry. The configuration has: ${known}.`);
  }
  const connections = new Map<string, CONNECTION>();
  for (const [entry, value] of Object.entries(entries)) {
    const path = at === "" ? entry : `${at}.${entry}`;
    const checked = checkEntry(value, path, [...ignore, ...approvals]);
    if (checked.disabled === true) continue;
    const given = Object.hasOwn(overrides, entry) ? Object.entries(overrides[entry]!) : [];
    const { name = entry, ...own } = Object.fromEntries(
      given.filter(([, each]) => each !== undefined),
    );
    const definer = define[kindOf(checked, path)];
    if (definer === undefined) throw needsNode(`${path}.command`);
    if (connections.has(name)) {
      throw invalid(path, `${path}: there are two connections ${name}. Rename one of them.`);
    }
    const definition = located(
      () => definer({ ...optionsOf(entry, checked, own, variables), ...own }),
      (field) => (Object.hasOwn(own, field.split(".")[0]!) ? `overrides.${entry}` : path),
    );
    connections.set(name, definition);
  }
  return Object.fromEntries(connections);
}

/** The entries of a configuration, and the path to them. */
function entriesOf(configuration: unknown): { at: string; entries: Record<string, unknown> } {
  if (!isRecord(configuration)) {
    const how =
      typeof configuration === "string" ? ": the text of a file, parsed with JSON.parse" : "";
    throw invalid("configuration", `configuration must be an object${how}.`);
  }
  const [at = "", second] = ["mcpServers", "servers"].filter((name) =>
    Object.hasOwn(configuration, name),
  );
  if (second !== undefined) {
    throw invalid(second, `${second} cannot stand beside ${at}. Keep the one that applies.`);
  }
  const entries = at === "" ? configuration : configuration[at];
  if (isRecord(entries) && !Array.isArray(entries)) return { at, entries };
  throw invalid(at, `${at || "configuration"} must be an object with an entry for each server.`);
}

function checkEntry(value: unknown, path: string, ignored: readonly string[]): Entry {
  if (!isRecord(value)) throw invalid(path, `${path} must be an object.`);
  const given = Object.entries(value).filter(
    ([field, each]) => !ignored.includes(field) && each !== undefined,
  );
  const unknown = given.find(([field]) => !Object.hasOwn(entryFields, field));
  if (unknown === undefined) {
    const known = Object.fromEntries(given) as Entry;
    return located(
      () => checkOptions(entrySchema, known),
      () => path,
    );
  }
  const field = `${path}.${unknown[0]}`;
  throw invalid(
    field,
    `${field} is not known here. Correct its name, or give an option of the connection in overrides. To leave the field aside, name it in ignore.`,
  );
}

/** How the server is reached. */
function kindOf({ url, command, type }: Entry, path: string): "http" | "stdio" {
  if (url === undefined && command === undefined) {
    throw invalid(path, `${path} needs a url, or a command for a program on this machine.`);
  }
  if (url !== undefined && command !== undefined) {
    const field = `${path}.command`;
    throw invalid(field, `${field} cannot stand beside url. Keep the one that applies.`);
  }
  const kind = url === undefined ? "stdio" : "http";
  if (type === undefined || (type === "stdio") === (kind === "stdio")) return kind;
  const field = `${path}.type`;
  const what = kind === "http" ? "url" : "command";
  throw invalid(field, `${field} says ${JSON.stringify(type)}, but the entry has a ${what}.`);
}

function needsNode(field: string): McpSessionError {
  return invalid(
    field,
    `${field} starts a program, which needs Node. Import fromMcpServers from @durable-mcp/ai-sdk/stdio.`,
  );
}

/** The options of a definition, with the values of variables. Those that are overridden need none. */
function optionsOf(
  entry: string,
  fields: Entry,
  overridden: object,
  variables: Variables,
): Record<string, unknown> {
  const described = { description: `Tools of the MCP server ${JSON.stringify(entry)}.`, ...fields };
  const unused = ["type", "disabled", ...Object.keys(overridden)];
  const used = Object.entries(described).filter(([field]) => !unused.includes(field));
  return Object.fromEntries(
    used.map(([field, value]) => {
      const isText = field === "description";
      return [field, isText ? value : substitute(value, variables, field)];
    }),
  );
}

/** `${NAME}`, `${env:NAME}`, `${NAME:-default}`, and what editors ask for, such as `${input:key}`. */
const reference = /\$\{([^}]*)\}/g;
const parts = /^(?<name>(?:[A-Za-z]+:)?[A-Za-z_][\w.-]*)(?::-(?<fallback>.*))?$/s;

/** A value of an entry, whose texts have the values of their variables. */
function substitute(value: unknown, variables: Variables, field: string): unknown {
  if (Array.isArray(value)) {
    return value.map((each, at) => substitute(each, variables, `${field}.${at}`));
  }
  if (isRecord(value)) {
    const entries = Object.entries(value).map(([name, each]) => {
      return [name, substitute(each, variables, `${field}.${name}`)] as const;
    });
    return Object.fromEntries(entries);
  }
  return String(value).replaceAll(reference, (_, inside: string) => {
    const { name = "", fallback } = parts.exec(inside)?.groups ?? {};
    const key = Object.hasOwn(variables, name) ? name : name.replace(/^env:/, "");
    // An empty variable is one that somebody forgot to fill.
    const found = Object.hasOwn(variables, key) ? variables[key] : undefined;
    if (found) return found;
    if (fallback !== undefined) return fallback;
    throw invalid(
      field,
      name === ""
        ? `${field} has a variable without a usable name. The forms are \${NAME}, \${env:NAME} and \${NAME:-default}.`
        : `${field} needs the variable ${key}, which is missing or empty. Give it in variables: { ${JSON.stringify(key)}: … }, or a default in the text.`,
    );
  });
}

/** Runs `work`, and gives the field that its error names the whole path. */
function located<T>(work: () => T, pathOf: (field: string) => string): T {
  try {
    return work();
  } catch (error) {
    const { field } = McpSessionError.isInstance(error) ? error.data : {};
    if (field === undefined) throw error;
    const path = `${pathOf(field)}.${field}`;
    const told = (error as Error).message.replace(/^Connection option /, "");
    const rest = told.startsWith(field) ? told.slice(field.length) : `: ${told}`;
    throw invalid(path, path + rest);
  }
}
