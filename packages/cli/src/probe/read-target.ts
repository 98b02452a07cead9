import { wrongUsage } from "../output/command-failure.ts";

/** The options of `probe`, as the command line has them. */
export interface ProbeOptions {
  readonly json?: true;
  readonly call?: string;
  readonly args?: Readonly<Record<string, unknown>>;
  /** Names of variables, by header. */
  readonly headerEnv?: Readonly<Record<string, string>>;
  readonly env?: readonly string[];
  /** In seconds. */
  readonly timeout: number;
  readonly callTimeout: number;
  readonly watch: number;
}

/** What is probed: a URL, or a program with its arguments. */
export type Target =
  | { readonly type: "url"; readonly url: URL }
  | { readonly type: "command"; readonly words: readonly string[] };

/** @throws {CommandFailure} for what is neither, and for options of the other kind */
export function readTarget(words: readonly string[], options: ProbeOptions): Target {
  if (options.args !== undefined && options.call === undefined) {
    throw wrongUsage("--args belongs to a call: say --call NAME as well.");
  }
  const [first = ""] = words;
  if (/^https?:/i.test(first)) {
    if (words.length > 1) throw wrongUsage("One URL is meant. A command stands after `--`.");
    if (options.env !== undefined)
      throw wrongUsage("--env is for a command; for a URL: --header-env.");
    return { type: "url", url: readUrl(first) };
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(first))
    throw wrongUsage("The URL must begin with http or https.");
  // `localhost:3000/mcp` and `example.com/mcp` are no programs.
  const isAddress =
    words.length === 1 &&
    /^[\w.-]+(?:\.[a-z]{2,}|:\d+)(?:\/|$)/i.test(first) &&
    !/\.(?:[cm]?[jt]s|py|sh|exe|cmd|bat)$/i.test(first);
  if (isAddress) {
    const scheme = /^(?:localhost|127\.)/.test(first) ? "http" : "https";
    throw wrongUsage(`A URL begins with its scheme: ${scheme}://${first}`);
  }
  if (options.headerEnv !== undefined)
    throw wrongUsage("--header-env is for a URL; a command has --env.");
  return { type: "command", words };
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw wrongUsage("That is no URL. It looks like https://mcp.example/mcp.");
  if (url.username === "" && url.password === "") return url;
  throw wrongUsage(
    "The URL has credentials in it, which other users of this machine can read. Put them into a variable: --header-env authorization=VARIABLE.",
  );
}
