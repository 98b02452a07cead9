import { secretValues } from "@durable-mcp/sessions/internal";
import { createScrubber, scrubJson } from "@durable-mcp/core/internal";
import {
  type DeclaredServer,
  references,
  textsOf,
  unknownFields,
} from "../configuration/declared-server.ts";
import { type CheckResult, failed, note, type Facts, type Probe, type Row } from "./checks.ts";
import { type Definition, defineForCommand, defineForUrl, secret } from "./definition.ts";
import { probeCommand } from "./probe-command.ts";
import { probeUrl } from "./probe-url.ts";
import { judgeCommand, judgeServer, type Verdict } from "./verdict.ts";
import { shownUrl } from "./wire.ts";

/** What a probe has seen of a server. */
export interface Seen {
  /** "" for a server of the command line. */
  readonly name: string;
  /** The URL or the command, without what may be secret in it. */
  readonly target: string;
  readonly facts: Facts;
  readonly rows: readonly Row[];
  readonly verdict: Verdict;
  /** `undefined` for what is no server, or none yet. */
  readonly definition?: Definition | undefined;
}

/** The row about the entry of a file. */
export const entryCheck = "its entry";
const entryRow = ({ outcome, says }: CheckResult): Row => ({ check: entryCheck, outcome, says });

/** Probes a declared server. Values of its headers and variables are in nothing that it returns. */
export async function probeDeclared(server: DeclaredServer, probe: Probe): Promise<Seen> {
  const { name, connection, problem } = server;
  try {
    if (connection === undefined) throw new Error(problem);
    return await probeConnection(server, connection, probe);
  } catch (error) {
    probe.signal.throwIfAborted();
    const rows = [entryRow(failed(error instanceof Error ? error.message : String(error)))];
    const verdict = { isUsable: false, sentences: ["It was not probed."] };
    return { name, target: "", facts: {}, rows, verdict };
  }
}

async function probeConnection(
  server: DeclaredServer,
  { type, options }: NonNullable<DeclaredServer["connection"]>,
  probe: Probe,
): Promise<Seen> {
  const { name, entry } = server;
  const site = type === "mcp-client" ? options : undefined;
  const program = type === "mcp-stdio" ? options : undefined;
  const url = site && new URL(site.url);
  const words = program ? [program.command, ...(program.args ?? [])] : [];
  const [headers, env] = [textsOf(site?.headers), textsOf(program?.env)];
  const used = references(server).map((each) => process.env[each.name] || (each.other ?? ""));
  const scrub = createScrubber([...used, ...secretValues(env, words)], secret);
  const { facts, rows } = url
    ? await probeUrl({ url, headers, ...probe })
    : await probeCommand({ words, env, cwd: program?.cwd, ...probe });
  const verdict = url ? judgeServer(facts) : judgeCommand(facts);
  const input = { name, entry, scrub, verdict, server: facts.server };
  const isThere = verdict.isUsable || (url && (facts.server ?? facts.authorization));
  const definition = url ? defineForUrl(url, input) : defineForCommand(words, input);
  const target = url ? shownUrl(url) : words.join(" ");
  const unknown = unknownFields(server);
  const refused = note(`fromMcpServers refuses ${unknown.join(", ")}, unless \`ignore\` has it.`);
  const all = unknown.length > 0 ? [...rows, entryRow(refused)] : rows;
  const seen = scrubJson({ target, facts, rows: all, verdict }, scrub) as Omit<Seen, "name">;
  return { name, ...seen, definition: isThere ? definition : undefined };
}
