import { readFileSync } from "node:fs";
import type { McpConnection } from "@durable-mcp/ai-sdk";
import { fromMcpServers } from "@durable-mcp/ai-sdk/stdio";
import { isRecord, oneLine } from "@durable-mcp/core/internal";
import { parse as parseJsonc, type ParseError } from "jsonc-parser";
import { CommandFailure } from "../output/command-failure.ts";

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
const fields =
  "url headers type command args env cwd description disabled alwaysAllow autoApprove".split(" ");

/** Reads an `mcpServers` file. A fault of one entry is its own. @throws {CommandFailure} for one of the file */
export function readMcpJson(path: string): DeclaredServer[] {
  const file = parse(path);
  const at = isRecord(file) && Object.hasOwn(file, "servers") ? "servers" : "mcpServers";
  const entries = isRecord(file) ? file[at] : undefined;
  if (isRecord(entries) && !Array.isArray(entries) && Object.keys(entries).length > 0)
    return Object.entries(entries).map(([name, entry]) => read(name, entry));
  throw new CommandFailure(
    `--mcp-json: ${at} of the file must be an object with an entry for each server.`,
  );
}

function parse(path: string): unknown {
  let text;
  try {
    text = readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  } catch {
    throw new CommandFailure("--mcp-json: the file cannot be read. Correct its path.");
  }
  // Editors allow comments, and commas before a closing bracket.
  const errors: ParseError[] = [];
  const value: unknown = parseJsonc(text, errors, { allowTrailingComma: true });
  if (errors.length === 0) return value;
  throw new CommandFailure("--mcp-json: the file is no JSON. Correct it.");
}

function read(name: string, value: unknown): DeclaredServer {
  const declared = { name: oneLine(name, 60), entry: isRecord(value) ? value : {} };
  if (isDisabled(declared)) return declared;
  const missing = references(declared).filter(({ value: its }) => !its);
  if (missing.length > 0) {
    const names = missing.map((each) => oneLine(each.name, 60)).join(", ");
    const fix = names.includes(":") ? "Write ${NAME} in the place of an editor's question." : "";
    return { ...declared, problem: `The environment has no ${names}: set it. ${fix}`.trimEnd() };
  }
  try {
    const options = { variables: process.env, ignore: unknownFields(declared) };
    const [connection] = Object.values(fromMcpServers({ mcpServers: { [name]: value } }, options));
    return { ...declared, connection };
  } catch (error) {
    return { ...declared, problem: oneLine((error as Error).message) };
  }
}

/** Whether the file says that nobody uses the server. */
export const isDisabled = ({ entry }: DeclaredServer) => entry["disabled"] === true;

/** The fields that `fromMcpServers` would refuse. */
export function unknownFields({ entry }: DeclaredServer): string[] {
  return Object.keys(entry).filter((field) => !fields.includes(field));
}

/** The variables of an entry with their values: `${NAME}`, `${env:NAME}`, `${NAME:-default}`. */
export function references({ entry }: DeclaredServer) {
  const used = JSON.stringify(fields.map((field) => entry[field]));
  const found = used.matchAll(/\$\{(?:env:)?((?:[A-Za-z]+:)?[A-Za-z_][\w.-]*)(:-[^}]*)?\}/g);
  return Array.from(found, ([, name = "", other]) => ({ name, value: process.env[name] || other }));
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
