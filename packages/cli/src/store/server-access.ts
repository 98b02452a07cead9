import { wrongUsage } from "../output/command-failure.ts";
import { addHeader, bearerVariable, headersOf } from "../credentials.ts";
import type { Command } from "commander";

/** The options that say which servers are told, and how. */
export interface ServerOptions {
  readonly server?: readonly string[];
  readonly headerEnv?: Readonly<Record<string, string>>;
}

/** How servers are reached. */
export type ServerAccess = ReturnType<typeof accessTo>;

const collect = (value: string, before: readonly string[] = []) => [...before, value];

export function addServerOptions(command: Command): Command {
  return command
    .option("--server <url>", "a server that may be told; may be given again", collect)
    .option(
      "--header-env <name=VARIABLE>",
      `send a header with the value of a variable (${bearerVariable} is the bearer token)`,
      addHeader,
    );
}

/**
 * Decides which servers are told. Nothing that a store holds decides alone where a session or an answer goes: the
 * command line names the servers, or a person who has seen them says yes.
 *
 * @param origins of the servers in the records
 * @param isAsked whether a person is asked, with these origins in the question
 */
export function accessTo(
  origins: Iterable<string>,
  options: ServerOptions,
  { isAsked, otherwise }: { readonly isAsked: boolean; readonly otherwise: string },
) {
  const all = new Set(origins);
  const named = new Set(options.server?.map(originOf));
  const unnamed = [...all].filter((origin) => !named.has(origin));
  if (unnamed.length > 0 && (named.size > 0 || !isAsked)) {
    throw wrongUsage(
      `--server is missing for ${unnamed.join(", ")}. A record alone does not decide where something is sent: name the servers that may be told${otherwise}.`,
    );
  }
  const headers = headersOf(options.headerEnv);
  const names = Object.keys(headers);
  if (all.size > 1 && names.length > 0) {
    throw wrongUsage(
      `${bearerVariable} and --header-env are for one server, and these records are of ${all.size}: ${[...all].join(", ")}. Choose rows of one, such as with --connection.`,
    );
  }
  return {
    /** Those that may be told. */
    origins: all,
    headers,
    /** What is sent with it, for the question before. */
    withWhat: names.length > 0 ? ` with its ${names.join(", ")}` : "",
  };
}

function originOf(text: string): string {
  if (/^https?:/.test(text) && URL.canParse(text)) return new URL(text).origin;
  throw wrongUsage("--server must be a URL, such as https://browser.example");
}
