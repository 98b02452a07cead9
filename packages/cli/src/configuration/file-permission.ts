import { confirm } from "@clack/prompts";
import { oneLine } from "@durable-mcp/core/internal";
import { answerTo, hasPerson, prompt } from "../output/ask.ts";
import { CommandFailure } from "../output/command-failure.ts";
import { type DeclaredServer, references } from "./declared-server.ts";

/** What a file of servers may have of this machine. Anybody may have written it. */
export interface FilePermission {
  /** The variables of the environment whose values it may use. */
  readonly variables: ReadonlySet<string>;
  /** Whether its programs are started. */
  readonly startsPrograms: boolean;
}

/** The options of a command that reads such a file. */
export interface FilePermissionOptions {
  readonly variable?: readonly string[] | undefined;
  readonly start?: true | undefined;
}

/**
 * Asks a person for what the options do not say: nothing is expanded or started without being asked for. Without a
 * terminal the entries that want more are refused, one by one.
 *
 * @throws {CommandFailure} if the answer is no
 */
export async function permit(
  servers: readonly DeclaredServer[],
  { variable = [], start }: FilePermissionOptions,
): Promise<FilePermission> {
  const given = { variables: new Set(variable), startsPrograms: start === true };
  const wants = servers.flatMap((server) => wantsOf(server, given));
  if (wants.length === 0 || !hasPerson()) return given;
  const question = `The file asks for more than its text:\n${wants.join("\n")}\nAllow all of it?`;
  if (!(await answerTo(confirm({ ...prompt(question), initialValue: false }))))
    throw new CommandFailure("Nothing was read, started or sent.");
  const names = servers.flatMap((server) => wantedVariables(server, given));
  return { variables: new Set([...variable, ...names]), startsPrograms: true };
}

/** Why an entry cannot be used as things are; `undefined` if it can. */
export function refusal(server: DeclaredServer, given: FilePermission): string | undefined {
  const names = wantedVariables(server, given);
  if (names.length > 0) {
    const options = names.map((name) => `--variable ${name}`).join(" ");
    return `It wants the value of ${names.join(", ")} from your environment, which is only read when you say so: ${options}.`;
  }
  if (isProgram(server) && !given.startsPrograms)
    return "It is a program, which is only started when you say so: --start.";
  return undefined;
}

/** The variables of an entry that are set, and not allowed. One with a default needs none. */
function wantedVariables(server: DeclaredServer, { variables }: FilePermission): string[] {
  const wanted = references(server)
    .filter(({ name, other }) => other === undefined && process.env[name] && !variables.has(name))
    .map(({ name }) => oneLine(name, 60));
  return [...new Set(wanted)];
}

const isProgram = ({ entry }: DeclaredServer) => "command" in entry;

/** For a person: what goes where, and what is started. Never a value. */
function wantsOf(server: DeclaredServer, given: FilePermission): string[] {
  const { name, entry } = server;
  const names = wantedVariables(server, given);
  const target = isProgram(server)
    ? oneLine([entry["command"], ...[entry["args"] ?? []].flat()].join(" "), 200)
    : hostOf(entry["url"]);
  const starts = isProgram(server) && !given.startsPrograms;
  return [
    ...(starts ? [`  ${name}: starts ${target}`] : []),
    ...(names.length > 0 ? [`  ${name}: ${names.join(", ")} goes to ${target}`] : []),
  ];
}

function hostOf(url: unknown): string {
  const text = String(url);
  return URL.canParse(text) ? new URL(text).origin : oneLine(text, 200);
}
