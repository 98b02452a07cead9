import type { ToolNamePrefix } from "../declare/tool-options.ts";

/** Model providers accept up to 64 characters of `[A-Za-z0-9_-]`. */
const maxLength = 64;
const hashLength = 8;

/** The option of a definition that decides the names of its tools. */
export interface NamesTools {
  readonly toolNames?: { readonly prefix?: ToolNamePrefix } | undefined;
}

/** The text before the server's names of a connection's tools: `<connection>__`, or the connection's own. */
export function prefixOf(connection: string, { toolNames }: NamesTools): string {
  const { prefix = `${connection}__` } = toolNames ?? {};
  return prefix === false ? "" : prefix;
}

/**
 * The name under which a tool is offered to the model: the prefix and the server's name. One that is too
 * long, empty, or has other characters is shortened, and ends in a hash of the names of connection and
 * tool, so that it depends on nothing else and approvals find it again in a later step.
 */
export async function toolName(
  connection: string,
  tool: string,
  options: NamesTools = {},
): Promise<string> {
  const name = prefixOf(connection, options) + tool;
  if (isUsable(name)) return name;
  const valid = name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return `${valid.slice(0, maxLength - hashLength - 1)}_${await hash(JSON.stringify([connection, tool]))}`;
}

/** The same, at once, for a name that is neither shortened nor changed; `undefined` for any other. */
export function plainToolName(
  connection: string,
  tool: string,
  options: NamesTools,
): string | undefined {
  const name = prefixOf(connection, options) + tool;
  return isUsable(name) ? name : undefined;
}

function isUsable(name: string): boolean {
  return name.length <= maxLength && /^[A-Za-z0-9_-]+$/.test(name);
}

async function hash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0"));
  return hex.join("").slice(0, hashLength);
}
