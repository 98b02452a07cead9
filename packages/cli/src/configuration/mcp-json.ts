import { readFileSync } from "node:fs";
import type { McpConnection } from "@durable-mcp/ai-sdk";
import { fromMcpServers } from "@durable-mcp/ai-sdk/stdio";
import { isRecord, oneLine } from "@durable-mcp/core/internal";
import { CommandFailure } from "../output/command-failure.ts";

/** A server that a file or a module declares. */
export interface DeclaredServer {
  /** Anybody may have written it: it is on one line. */
  readonly name: string;
  /** `undefined` with a problem, and for an entry that is disabled. */
  readonly connection?: McpConnection | undefined;
  /** Why the entry cannot be used, and what to do. */
  readonly problem?: string | undefined;
  /** As it stands in the file, without the values of variables. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** Fields that `fromMcpServers` would refuse. */
  readonly unknown: readonly string[];
}

/** Whether the file says that nobody uses the server. */
export function isDisabled({ entry }: DeclaredServer): boolean {
  return entry["disabled"] === true;
}

const longestName = 60;
const fields = ["url", "headers", "type", "command", "args", "env", "cwd", "description"];
/** Those that clients write of their own, which `fromMcpServers` leaves aside. */
const aside = ["disabled", "alwaysAllow", "autoApprove"];

/**
 * Reads the servers of an `mcpServers` file. A fault of one entry is its own.
 *
 * @param option names the file in messages
 * @throws {CommandFailure} for a file that cannot be read, or has no servers
 */
export function readMcpJson(path: string, option: string): DeclaredServer[] {
  const file = parse(path, option);
  const at = isRecord(file) && Object.hasOwn(file, "servers") ? "servers" : "mcpServers";
  const entries = isRecord(file) ? file[at] : undefined;
  if (!isRecord(entries) || Array.isArray(entries))
    throw new CommandFailure(
      `${option}: the file has no mcpServers, or servers as VS Code has it: an object with an entry for each server.`,
    );
  if (Object.keys(entries).length === 0)
    throw new CommandFailure(`${option}: ${at} of the file is empty. Add a server to it.`);
  return Object.entries(entries).map(([name, entry]) => read(at, name, entry));
}

function parse(path: string, option: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as { code?: string };
    throw new CommandFailure(`${option}: the file cannot be read (${code}). Correct its path.`);
  }
  // Editors allow comments, and commas before a closing bracket.
  const plain = text
    .replace(/^\uFEFF/, "")
    .replaceAll(/("(?:[^"\\]|\\.)*")|\/\/.*|\/\*[^]*?\*\//g, "$1")
    .replaceAll(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, "$1");
  try {
    return JSON.parse(plain);
  } catch {
    // The message of the parser would repeat what may be a secret.
    throw new CommandFailure(`${option}: the file is no JSON. Correct it.`);
  }
}

function read(at: string, name: string, value: unknown): DeclaredServer {
  const entry = isRecord(value) ? value : {};
  const unknown = Object.keys(entry).filter((field) => ![...fields, ...aside].includes(field));
  const declared = { name: oneLine(name, longestName), entry, unknown };
  if (isDisabled(declared)) return declared;
  const missing = references(entry).filter(({ name: variable, fallback }) => {
    return fallback === undefined && !process.env[variable];
  });
  if (missing.length > 0) return { ...declared, problem: needs(missing) };
  try {
    const options = { variables: process.env, ignore: unknown };
    const [connection] = Object.values(fromMcpServers({ [at]: { [name]: value } }, options));
    return { ...declared, connection };
  } catch (error) {
    return { ...declared, problem: oneLine((error as Error).message) };
  }
}

interface Reference {
  readonly name: string;
  readonly fallback: string | undefined;
}

/** The variables of an entry, each once: `${NAME}`, `${env:NAME}`, `${NAME:-default}`. */
export function references(entry: DeclaredServer["entry"]): Reference[] {
  const used = JSON.stringify(fields.map((field) => entry[field]));
  const found = [
    ...used.matchAll(/\$\{(?:env:)?((?:[A-Za-z]+:)?[A-Za-z_][\w.-]*)(?::-([^}]*))?\}/g),
  ];
  return [...new Map(found.map(([, name = "", fallback]) => [name, { name, fallback }])).values()];
}

/** The variable that a text consists of; `undefined` for any other text. */
export function variableIn(text: unknown): string | undefined {
  return /^\$\{(?:env:)?([A-Za-z_]\w*)\}$/.exec(String(text))?.[1];
}

function needs(missing: readonly Reference[]): string {
  const names = missing.map(({ name }) => oneLine(name, longestName)).join(", ");
  const asked = missing.some(({ name }) => name.includes(":"))
    ? " What an editor asks for needs a variable in its place: ${NAME}."
    : "";
  return `The environment has no value for: ${names}. Set it.${asked}`;
}
