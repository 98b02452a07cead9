import { readFileSync, statSync } from "node:fs";
import { fromMcpServers } from "@durable-mcp/ai-sdk/stdio";
import { isRecord, oneLine } from "@durable-mcp/core/internal";
import { parse as parseJsonc, type ParseError } from "jsonc-parser";
import { CommandFailure } from "../output/command-failure.ts";
import { type DeclaredServer, isDisabled, references, unknownFields } from "./declared-server.ts";
import {
  type FilePermission,
  type FilePermissionOptions,
  permit,
  refusal,
} from "./file-permission.ts";

/**
 * Reads an `mcpServers` file. A fault of one entry is its own.
 *
 * @throws {CommandFailure} for a fault of the file, and if a person allows nothing of what it asks for
 */
export async function readMcpJson(
  path: string,
  options: FilePermissionOptions,
): Promise<DeclaredServer[]> {
  const file = parse(path);
  const at = isRecord(file) && Object.hasOwn(file, "servers") ? "servers" : "mcpServers";
  const entries = isRecord(file) ? file[at] : undefined;
  if (isRecord(entries) && !Array.isArray(entries) && Object.keys(entries).length > 0) {
    const declared = Object.entries(entries).map(([name, entry]) => ({
      ...{ name: oneLine(name, 60), entry: isRecord(entry) ? entry : {} },
    }));
    const given = await permit(
      declared.filter((each) => !isDisabled(each)),
      options,
    );
    return declared.map((each) => read(each, given));
  }
  throw new CommandFailure(
    `mcp.json: ${at} of the file must be an object with an entry for each server.`,
  );
}

/** In bytes. */
const maxFileLength = 10_000_000;
/** Of brackets in brackets. A server's entry has four. */
const maxDepth = 100;

function parse(path: string): unknown {
  const file = statSync(path, { throwIfNoEntry: false });
  if (!file?.isFile())
    throw new CommandFailure("mcp.json: there is no file at this path. Correct it.");
  if (file.size > maxFileLength)
    throw new CommandFailure("mcp.json: the file has more than 10 MB. Correct its path.");
  let text;
  try {
    text = readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  } catch {
    throw new CommandFailure("mcp.json: the file cannot be read. Correct its path or its mode.");
  }
  if (depthOf(text) > maxDepth)
    throw new CommandFailure(`mcp.json: the file is nested deeper than ${maxDepth} levels.`);
  // Editors allow comments, and commas before a closing bracket.
  const errors: ParseError[] = [];
  const value: unknown = parseJsonc(text, errors, { allowTrailingComma: true });
  if (errors.length === 0) return value;
  const line = text.slice(0, errors[0]!.offset).split("\n").length;
  throw new CommandFailure(`mcp.json: the file is no JSON at line ${line}. Correct it.`);
}

/** How deep the brackets of a text are nested, those in its strings and comments too. */
function depthOf(text: string): number {
  let [depth, deepest] = [0, 0];
  for (const character of text) {
    if (character === "{" || character === "[") deepest = Math.max(deepest, (depth += 1));
    else if (character === "}" || character === "]") depth -= 1;
  }
  return deepest;
}

function read(declared: DeclaredServer, given: FilePermission): DeclaredServer {
  if (isDisabled(declared)) return declared;
  const problem = refusal(declared, given);
  if (problem !== undefined) return { ...declared, problem };
  const variables = Object.fromEntries(
    Array.from(given.variables, (name) => [name, process.env[name]]),
  );
  const missing = references(declared).filter(({ name, other }) => !(variables[name] || other));
  if (missing.length > 0) {
    const names = missing.map((each) => oneLine(each.name, 60)).join(", ");
    const fix = names.includes(":") ? "Write ${NAME} in the place of an editor's question." : "";
    return { ...declared, problem: `The environment has no ${names}: set it. ${fix}`.trimEnd() };
  }
  try {
    const { name, entry } = declared;
    const options = { variables, ignore: unknownFields(declared) };
    const [connection] = Object.values(fromMcpServers({ mcpServers: { [name]: entry } }, options));
    return { ...declared, connection };
  } catch (error) {
    return { ...declared, problem: oneLine((error as Error).message) };
  }
}
