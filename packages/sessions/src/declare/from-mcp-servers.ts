import { McpSessionError } from "@durable-mcp/core";
import { invalid, invalidOption, isRecord } from "@durable-mcp/core/internal";
import { checkOptions, optionalOptions } from "../base/check-options.ts";
import type { McpConnection } from "./mcp-connection.ts";

/** How a configuration of MCP servers is read. */
export interface McpServersOptions<OVERRIDES> {
  /**
   * The values of `${NAME}`, by name: `process.env`, or only what the configuration may read. They are
   * substituted in all fields but `description`. `${NAME:-text}` has a default. @default none
   */
  readonly variables?: Readonly<Record<string, string | undefined>> | undefined;
  /** Options of the definitions, by the names of entries. They replace those of the entry. @default none */
  readonly overrides?: Readonly<Record<string, OVERRIDES>> | undefined;
  /** Fields of entries to ignore, beside `alwaysAllow` and `autoApprove`. @default none */
  readonly ignore?: readonly string[] | undefined;
}

const isText = (value: unknown) => typeof value === "string";
const anyText = { test: isText, fix: "must be a string" };
const texts = { record: anyText } as const;

const knownOptions = optionalOptions({
  // `process.env` has a prototype of its own.
  variables: (value, field) => {
    if (!isRecord(value)) throw invalidOption(field, "must be an object");
    const wrong = Object.entries(value).find(([, each]) => each !== undefined && !isText(each));
    if (wrong) throw invalidOption(`${field}.${wrong[0]}`, "must be a string");
  },
  ...{ overrides: { record: "object" }, ignore: "names" },
});

const common = { description: "text", disabled: "flag" } as const;
const entryKinds = {
  http: optionalOptions(
    {
      headers: texts,
      type: {
        test: (value) => ["http", "streamable-http", "streamableHttp", "sse"].includes(value),
        fix: 'must be "http" or "sse" beside a url',
      },
      ...common,
    },
    { url: { test: isText, fix: "is missing, or a command for a program on this machine" } },
  ),
  stdio: optionalOptions(
    {
      ...{ args: { list: anyText, is: "a list of strings" }, env: texts, cwd: "text" },
      type: { test: (value) => value === "stdio", fix: 'must be "stdio" beside a command' },
      ...common,
    },
    { command: "text" },
  ),
};
/** Approvals of other clients, which write them into each entry. */
const approvals = ["alwaysAllow", "autoApprove"];

/** What makes the definitions. */
interface Definers<CONNECTION> {
  readonly http: (options: any) => CONNECTION;
  /** Left out where there is no Node. */
  readonly stdio?: (options: any) => CONNECTION;
}

/**
 * Declares the servers of an `mcpServers` configuration.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the entry and the field
 */
export function readMcpServers<CONNECTION extends McpConnection>(
  configuration: unknown,
  options: McpServersOptions<object>,
  define: Definers<CONNECTION>,
): Record<string, CONNECTION> {
  const { variables = {}, overrides = {}, ignore = [] } = checkOptions(knownOptions, options);
  const { at, entries } = entriesOf(configuration);
  const unknown = Object.keys(overrides).find((entry) => !Object.hasOwn(entries, entry));
  if (unknown !== undefined) {
    const field = `overrides.${unknown}`;
    const known = Object.keys(entries).join(", ");
    throw invalid(field, `${field} is of no entry. The configuration has: ${known}.`);
  }
  const connections = Object.entries(entries).flatMap(([name, value]) => {
    const path = `${at}.${name}`;
    const kind = isRecord(value) && "command" in value ? "stdio" : "http";
    const entry = checkEntry(value, kind, path, [...ignore, ...approvals]);
    if (entry["disabled"] === true) return [];
    const definer = define[kind];
    if (definer === undefined) {
      const field = `${path}.command`;
      throw invalid(
        field,
        `${field} starts a program, which needs Node. Import fromMcpServers from the entry /stdio of the same package.`,
      );
    }
    const given = Object.hasOwn(overrides, name) ? Object.entries(overrides[name]!) : [];
    const own = Object.fromEntries(given.filter(([, each]) => each !== undefined));
    const { description = `Tools of the MCP server ${JSON.stringify(name)}.`, ...fields } = entry;
    const unused = ["type", "disabled", ...Object.keys(own)];
    const used = Object.entries(fields).filter(([field]) => !unused.includes(field));
    const definition = located(
      () => {
        const filled = used.map(([field, each]) => [field, substitute(each, variables, field)]);
        return definer({ description, ...Object.fromEntries(filled), ...own });
      },
      (field) => (Object.hasOwn(own, field.split(".")[0]!) ? `overrides.${name}` : path),
    );
    return [[name, definition] as const];
  });
  return Object.fromEntries(connections);
}

/** The entries of a configuration, and the field that has them. */
function entriesOf(configuration: unknown): { at: string; entries: Record<string, unknown> } {
  const fields = isRecord(configuration) ? configuration : {};
  const at = Object.hasOwn(fields, "servers") ? "servers" : "mcpServers";
  const entries = fields[at];
  if (isRecord(entries) && !Array.isArray(entries)) return { at, entries };
  const how =
    typeof configuration === "string" ? " Parse the text of a file with JSON.parse first." : "";
  throw invalid(at, `${at} must be an object with an entry for each server.${how}`);
}

function checkEntry(
  value: unknown,
  kind: "http" | "stdio",
  path: string,
  ignored: readonly string[],
): Record<string, unknown> {
  if (!isRecord(value)) throw invalid(path, `${path} must be an object.`);
  const given = Object.entries(value).filter(
    ([field, each]) => !ignored.includes(field) && each !== undefined,
  );
  const unknown = given.find(([field]) => !Object.hasOwn(entryKinds[kind].options, field));
  if (unknown === undefined) {
    return located(
      () => checkOptions(entryKinds[kind], Object.fromEntries(given)),
      () => path,
    );
  }
  const field = `${path}.${unknown[0]}`;
  throw invalid(
    field,
    `${field} is not known here. Correct its name, or give an option of the connection in overrides. To leave the field aside, name it in ignore.`,
  );
}

/** `${NAME}`, `${env:NAME}`, `${NAME:-default}`, and what editors ask for, such as `${input:key}`. */
const reference = /\$\{([^}]*)\}/g;
const parts = /^(?<name>(?:[A-Za-z]+:)?[A-Za-z_][\w.-]*)(?::-(?<fallback>.*))?$/s;

/** A value of an entry, whose texts have the values of their variables. */
function substitute(
  value: unknown,
  variables: NonNullable<McpServersOptions<object>["variables"]>,
  field: string,
): unknown {
  if (Array.isArray(value)) {
    return value.map((each, at) => substitute(each, variables, `${field}[${at}]`));
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
