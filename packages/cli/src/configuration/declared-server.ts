import type { McpConnection } from "@durable-mcp/sessions";
import { isRecord } from "@durable-mcp/core/internal";

/** A server that a file, a module or the command line declares. */
export interface DeclaredServer {
  /** On one line: anybody may have written it. */
  readonly name: string;
  /** `undefined` with a problem, and for an entry that is disabled. */
  readonly connection?: McpConnection | undefined;
  readonly problem?: string | undefined;
  /** As it stands in the file, without the values of variables. */
  readonly entry: Readonly<Record<string, unknown>>;
}

/** Those that `fromMcpServers` takes, or leaves aside. */
const fields = {
  url: "url headers type description disabled alwaysAllow autoApprove".split(" "),
  command: "command args env cwd type description disabled alwaysAllow autoApprove".split(" "),
};

/** Whether an entry is a program, which a `command` starts, or behind a `url`. */
export const kindOf = ({ entry }: DeclaredServer) => ("command" in entry ? "command" : "url");

/** Whether the file says that nobody uses the server. */
export const isDisabled = ({ entry }: DeclaredServer) => entry["disabled"] === true;

/** The fields that `fromMcpServers` would refuse. */
export function unknownFields(server: DeclaredServer): string[] {
  return Object.keys(server.entry).filter((field) => !fields[kindOf(server)].includes(field));
}

/** The variables of an entry, and their defaults: `${NAME}`, `${env:NAME}`, `${NAME:-default}`. */
export function references(server: DeclaredServer) {
  const used = JSON.stringify(fields[kindOf(server)].map((field) => server.entry[field]));
  const found = used.matchAll(/\$\{(?:env:)?((?:[A-Za-z]+:)?[A-Za-z_][\w.-]*)(:-[^}]*)?\}/g);
  return Array.from(found, ([, name = "", other]) => ({ name, other }));
}

/** The variable that a text consists of; `undefined` for any other text. */
export function variableIn(text: unknown): string | undefined {
  return /^\$\{(?:env:)?([A-Za-z_]\w*)\}$/.exec(String(text))?.[1];
}

/** The texts of a record: a function needs a user. */
export function textsOf(record: unknown): Record<string, string> {
  const entries: [string, unknown][] = isRecord(record) ? Object.entries(record) : [];
  return Object.fromEntries(
    entries.flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
}
