import { invalid } from "@durable-mcp/core/internal";
import * as z from "zod/mini";
import { anything, checkOptions, flag, names, text, timeout } from "../base/check-options.ts";
import { located } from "./located.ts";
import { substitute, substituteAll, type Variables } from "./variables.ts";

const texts = z.record(z.string(), z.string("must be a string"), "must be an object");
const http = ["http", "streamable-http", "streamableHttp", "streamable_http", "sse"] as const;
const stdio = ["stdio", "local"] as const;
const transport = z.literal([...http, ...stdio], 'must be "http", "sse" or "stdio"');
const urls = ["url", "serverUrl", "httpUrl"] as const;

/** Fields about approvals, editors and catalogs. They mean nothing here. */
const meaningless = {
  ...{ alwaysAllow: anything, autoApprove: anything, trust: anything, dev: anything },
  ...{ gallery: anything, version: anything, watchPaths: anything },
};

const shape = {
  ...{ url: text, serverUrl: text, httpUrl: text, headers: texts },
  ...{ command: text, args: z.array(z.string("must be a string"), "must be a list"), cwd: text },
  ...{ env: texts, type: transport, transport, description: text, disabled: flag, enabled: flag },
  ...{ tools: names, includeTools: names, excludeTools: names, disabledTools: names },
  ...{ defaultToolTimeout: timeout, ...meaningless },
};
const entrySchema = z.strictObject(
  Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, z.optional(field)])),
);
type Entry = Partial<
  Record<"command" | "cwd" | "description" | (typeof urls)[number], string> &
    Record<"headers" | "env", Record<string, string>> &
    Record<"tools" | "includeTools" | "excludeTools" | "disabledTools" | "args", string[]> &
    Record<"type" | "transport", z.infer<typeof transport>> &
    Record<"disabled" | "enabled", boolean> & { defaultToolTimeout: number }
>;

const inOverrides = (option: string) => `has no form here. Give ${option} in overrides`;
const hints = {
  timeout: `has another unit in each client. Give timeouts in overrides`,
  auth: inOverrides("auth or authProvider"),
  authProvider: inOverrides("authProvider"),
  authProviderType: inOverrides("authProvider"),
  oauth: inOverrides("authProvider"),
  headersHelper: inOverrides("headers, which may be a function,"),
  requestInit: inOverrides("headers"),
  envFile: "is not read. Load the file, and give env in overrides",
};

/** An entry of a configuration, in the words of a definition. */
export interface ServerOptions {
  readonly kind: "http" | "stdio";
  readonly options: Readonly<Record<string, unknown>>;
  /** The field that an option comes from, where its name is another one. */
  readonly sources: Readonly<Record<string, string>>;
}

interface EntryUse {
  /** Names the entry in errors. */
  readonly path: string;
  readonly name: string;
  readonly variables: Variables;
  readonly ignore: readonly string[];
  /** Options that stand in the place of the entry's. Their variables are not needed. */
  readonly replaced: object;
}

/**
 * Reads an entry.
 *
 * @returns `undefined` for an entry that is switched off
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the entry and the field
 */
export function readEntry(value: object, use: EntryUse): ServerOptions | undefined {
  const { path, name, replaced } = use;
  const entry = checkEntry(value, use);
  if (entry.disabled === true || entry.enabled === false) return undefined;
  const { kind, url } = kindOf(entry, path);
  const fill = (field: string, given: string) =>
    substitute(given, use.variables, `${path}.${field}`);
  const fillAll = (field: "headers" | "env") =>
    entry[field] && substituteAll(entry[field], use.variables, `${path}.${field}`);
  const own: Record<string, () => unknown> =
    kind === "http"
      ? {
          url: () => fill(url!, entry[url!]!),
          headers: () => fillAll("headers"),
        }
      : {
          command: () => fill("command", entry.command!),
          args: () => entry.args?.map((each, at) => fill(`args.${at}`, each)),
          env: () => fillAll("env"),
          cwd: () => entry.cwd && fill("cwd", entry.cwd),
        };
  const all: typeof own = {
    description: () => entry.description ?? `Tools of the MCP server ${JSON.stringify(name)}.`,
    tools: () => toolsOf(entry),
    timeouts: () => entry.defaultToolTimeout && { callMs: entry.defaultToolTimeout },
    ...own,
  };
  const read = Object.entries(all).flatMap(([option, get]) => {
    const given = Object.hasOwn(replaced, option) ? undefined : get();
    return given === undefined ? [] : [[option, given] as const];
  });
  return { kind, options: Object.fromEntries(read), sources: { url: url ?? "url" } };
}

function checkEntry(value: object, { path, ignore }: EntryUse): Entry {
  const given = Object.entries(value).filter(
    ([field, each]) => !ignore.includes(field) && each !== undefined,
  );
  for (const [field] of given) {
    if (Object.hasOwn(shape, field)) continue;
    const why = Object.hasOwn(hints, field)
      ? hints[field as keyof typeof hints]
      : "is not known here. Correct its name, or give an option in overrides";
    const own = `${path}.${field}`;
    throw invalid(own, `${own} ${why}. To leave the field aside, name it in ignore.`);
  }
  const known = Object.fromEntries(given);
  return located(
    () => checkOptions(entrySchema, known) as Entry,
    (field) => `${path}.${field}`,
  );
}

/** How the server is reached, and the field with its URL. */
function kindOf(entry: Entry, path: string) {
  const given = [...urls, "command" as const].filter((field) => entry[field] !== undefined);
  const [first, second] = given;
  if (first === undefined) {
    throw invalid(path, `${path} needs a url, or a command for a program on this machine.`);
  }
  if (second !== undefined) {
    const field = `${path}.${second}`;
    throw invalid(field, `${field} cannot stand beside ${first}. Keep the one that applies.`);
  }
  const url = first === "command" ? undefined : first;
  const kind = url === undefined ? "stdio" : "http";
  for (const field of ["type", "transport"] as const) {
    const type = entry[field];
    const own = kind === "http" ? http : stdio;
    if (type === undefined || own.some((each) => each === type)) continue;
    const name = `${path}.${field}`;
    throw invalid(name, `${name} says ${JSON.stringify(type)}, but the entry has a ${first}.`);
  }
  return { kind, url } as const;
}

/** The tools that other clients would offer, as `tools` of a definition. */
function toolsOf(entry: Entry) {
  const { tools, includeTools = tools, excludeTools = [], disabledTools = [] } = entry;
  const block = [...excludeTools, ...disabledTools];
  if (includeTools !== undefined && !includeTools.includes("*")) {
    return { allow: includeTools.filter((tool) => !block.includes(tool)) };
  }
  return block.length > 0 ? { block } : undefined;
}
