import type { McpConnection } from "@durable-mcp/ai-sdk";
import { secretValues } from "@durable-mcp/ai-sdk/internal";
import { createScrubber, endpointName, scrubJson } from "@durable-mcp/core/internal";
import { type DeclaredServer, references, variableIn } from "../configuration/mcp-json.ts";
import { jsonText } from "../output/print.ts";
import { failed, note, type Facts, type Probe, type Row } from "./checks.ts";
import { type Definition, defineForCommand, defineForUrl, variableText } from "./definition.ts";
import { probeCommand } from "./probe-command.ts";
import { probeUrl } from "./probe-url.ts";
import { isThere, judgeCommand, judgeServer, type Verdict } from "./verdict.ts";

/** What a probe has seen of a server. */
export interface Seen {
  /** The URL or the command, without what may be secret in it. */
  readonly shown: string;
  readonly facts: Facts;
  readonly rows: readonly Row[];
  readonly verdict: Verdict;
  /** `undefined` for what is no server, or none yet. */
  readonly definition: Definition | undefined;
}

/** The row about what the file says. */
export const entryCheck = "its entry";

/** Probes a declared server. Values of its headers and variables are in nothing that it returns. */
export async function probeDeclared(server: DeclaredServer, probe: Probe): Promise<Seen> {
  const { connection, name, problem, unknown } = server;
  const check = entryCheck;
  const wrong = (says: string): Seen => ({
    ...{ shown: name, facts: {}, definition: undefined, rows: [{ check, ...failed(says) }] },
    verdict: { isUsable: false, sentences: ["It was not probed."] },
  });
  if (connection === undefined) return wrong(problem ?? "It is disabled.");
  const scrub = createScrubber(secretsOf(server, connection), "<secret>");
  const probing =
    connection.type === "mcp-client"
      ? probeItsUrl(server, connection, probe, scrub)
      : probeItsProgram(server, connection, probe, scrub);
  const { definition, ...seen } = await probing.catch((error: Error) => {
    probe.signal.throwIfAborted();
    return wrong(error.message);
  });
  const refused = `fromMcpServers refuses fields of it: ${unknown.join(", ")}. Name them in \`ignore\`, or say them in \`overrides\`.`;
  const rows = unknown.length > 0 ? [...seen.rows, { check, ...note(refused) }] : seen.rows;
  return { ...(scrubJson({ ...seen, rows }, scrub) as typeof seen), definition };
}

type Options<TYPE> = Extract<McpConnection, { type: TYPE }>["options"];

async function probeItsUrl(
  { name, entry }: DeclaredServer,
  { options }: { readonly options: Options<"mcp-client"> },
  probe: Probe,
  scrub: (text: string) => string,
): Promise<Seen> {
  const url = new URL(options.url);
  const { facts, rows } = await probeUrl({ url, headers: textsOf(options.headers), ...probe });
  const verdict = judgeServer(facts);
  const written = Object.entries(textsOf(entry["headers"]));
  const token = written.find(isBearer)?.[1].slice("Bearer ".length);
  const others = written
    .filter((each) => !isBearer(each))
    .map(([header, text]) => [header, variableIn(text) ?? variableFor(name, header)]);
  const definition = isThere(facts)
    ? defineForUrl(url, {
        ...{ name, verdict, server: facts.server },
        urlText: expressionOf(entry["url"], scrub(endpointName(url))),
        headerVariables: Object.fromEntries(others),
        bearerVariable: token && (variableIn(token) ?? variableFor(name, "token")),
      })
    : undefined;
  return { shown: endpointName(url), facts, rows, verdict, definition };
}

async function probeItsProgram(
  { name, entry }: DeclaredServer,
  { options }: { readonly options: Options<"mcp-stdio"> },
  probe: Probe,
  scrub: (text: string) => string,
): Promise<Seen> {
  const { command, args = [], cwd } = options;
  const words = [command, ...args];
  const { facts, rows } = await probeCommand({ words, env: textsOf(options.env), cwd, ...probe });
  const verdict = judgeCommand(facts);
  const written = [entry["command"], ...(Array.isArray(entry["args"]) ? entry["args"] : [])];
  const variables = Object.entries(textsOf(entry["env"])).map(([variable, text]) => [
    variable,
    variableIn(text) ?? variable,
  ]);
  const definition = verdict.isUsable
    ? defineForCommand({
        ...{ name, server: facts.server, variables: Object.fromEntries(variables) },
        words: words.map((word, at) => expressionOf(written[at], scrub(word))),
        isCut: words.some((word, at) => !variableIn(written[at]) && scrub(word) !== word),
        cwd: cwd === undefined ? undefined : expressionOf(entry["cwd"], scrub(cwd)),
      })
    : undefined;
  return { shown: words.join(" "), facts, rows, verdict, definition };
}

function isBearer([header, text]: readonly [string, string]): boolean {
  return header.toLowerCase() === "authorization" && /^Bearer \$\{[^}]+\}$/.test(text);
}

/** A variable that a text of the file consists of, or what may be shown of its value. */
function expressionOf(written: unknown, shown: string): string {
  const variable = variableIn(written);
  return variable === undefined ? jsonText(shown) : variableText(variable);
}

/** A variable for a value that stands in the file itself. */
function variableFor(name: string, what: string): string {
  return `MCP_${name}_${what}`.toUpperCase().replaceAll(/\W+/g, "_");
}

/** Those values of a record that are texts: a function needs a user. */
function textsOf(record: unknown): Record<string, string> {
  const entries = typeof record === "object" && record !== null ? Object.entries(record) : [];
  return Object.fromEntries(entries.filter(([, value]) => typeof value === "string"));
}

/** All values that are shown to nobody. */
function secretsOf({ entry }: DeclaredServer, { type, options }: McpConnection): string[] {
  const used = references(entry).map(({ name, fallback }) => process.env[name] ?? fallback ?? "");
  if (type === "mcp-stdio")
    return [...used, ...secretValues(textsOf(options.env), options.args ?? [])];
  // A server may repeat a token without its scheme.
  const headers = Object.values(textsOf(options.headers));
  return [...used, ...headers.flatMap((value) => [value, value.split(" ").at(-1) ?? ""])];
}
