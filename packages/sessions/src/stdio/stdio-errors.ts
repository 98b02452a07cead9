import { McpSessionError } from "@durable-mcp/core";
import { plainText } from "@durable-mcp/core/internal";
import { statSync } from "node:fs";
import { basename } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { McpStdioConnectionOptions } from "../declare/stdio-connection-options.ts";
import type { ProcessEnd } from "./supervised-process.ts";

/** The output of a server before it failed. */
export interface ServerOutput {
  /** The last lines of its stderr, without secrets. */
  readonly stderr: string;
  /** The last lines of its stdout that were not messages, without secrets. */
  readonly strays: string;
}

/** Names a stdio server where an HTTP server has its origin. */
export function stdioOrigin({ command }: Pick<McpStdioConnectionOptions, "command">): string {
  return `stdio:${basename(command)}`;
}

export function createStdioErrors(
  connection: string,
  { command, cwd }: Pick<McpStdioConnectionOptions, "command" | "cwd">,
) {
  const origin = stdioOrigin({ command });
  const unavailable = (
    why: string,
    { output, cause, field }: { output?: ServerOutput; cause?: unknown; field?: string } = {},
  ) =>
    new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `Connection ${connection}: the server ${origin} ${why}${output ? quote(output) : ""}`,
      { data: { connection, origin, ...(field !== undefined && { field }) }, cause },
    );

  return {
    unavailable,
    /** The process could not be started. */
    notStarted: (reason: string) => {
      if (!isDirectory(cwd)) {
        return unavailable(`could not be started: cwd ${cwd} is not a directory.`, {
          field: "cwd",
        });
      }
      const field = "command";
      if (reason === "ENOENT") {
        return unavailable(
          `could not be started: there is no command ${command}. Install it, give its full path, or set PATH in env.`,
          { field },
        );
      }
      if (reason === "E2BIG") {
        const why = "could not be started (E2BIG): args and env are longer than the system allows.";
        return unavailable(why, { field: "args" });
      }
      return unavailable(`could not be started (${reason}): is ${command} a program?`, { field });
    },
    endedEarly: (end: ProcessEnd, output: ServerOutput) =>
      unavailable(`${describeEnd(end)} before it answered the handshake.`, { output }),
    silent: (connectMs: number, output: ServerOutput, cause: unknown) =>
      unavailable(`did not answer the handshake within ${connectMs} ms.`, { output, cause }),
    refused: (why: string, output: ServerOutput, cause: unknown) =>
      unavailable(`did not accept the handshake: ${why.replace(/\.$/, "")}.`, { output, cause }),
    /** The server does not read its stdin, so the request was not sent. */
    notReading: (output: ServerOutput) =>
      unavailable("does not read its stdin. The request was not sent.", { output }),
    /** The server's answer is of no use. */
    unusable: (method: string, why: string) =>
      new McpSessionError(
        "OUTCOME_UNKNOWN",
        `${method} at ${origin}: the server answered, but its answer ${why}. Whether it carried the request out is unknown: check before you send the request again.`,
        { data: { connection, origin, method } },
      ),
    /** The server ended during a request. */
    outcomeUnknown: (method: string, end: ProcessEnd, output: ServerOutput) =>
      new McpSessionError(
        "OUTCOME_UNKNOWN",
        `${method} at ${origin}: the server ${describeEnd(end)} before it answered. Its state is lost. Whether it carried the request out is unknown: check before you send the request again.${quote(output)}`,
        { data: { connection, origin, method } },
      ),
    /** The process ended, and no other takes its place. */
    lost: (why: string, options: { cause?: unknown; output?: ServerOutput } = {}) =>
      new McpSessionError(
        "SESSION_LOST",
        `Connection ${connection}: the server ${origin} ${why}${options.output ? quote(options.output) : ""}`,
        { data: { connection, origin }, cause: options.cause },
      ),
  };
}

function isDirectory(path: string | undefined): boolean {
  return path === undefined || statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

export type StdioErrors = ReturnType<typeof createStdioErrors>;

export function describeEnd(end: ProcessEnd): string {
  if (end.type === "not-started") return `could not be started (${end.reason})`;
  if (end.type === "supervisor-ended") return "was ended together with its supervisor";
  // An exit code says more, unless it only says that the server did as it was told.
  if (end.isMute && !end.exitCode) return "closed its stdout and was ended";
  return end.signal === null
    ? `ended with exit code ${end.exitCode}`
    : `was ended by ${end.signal}`;
}

function quote({ stderr, strays }: ServerOutput): string {
  const printed = stderr === "" ? " It printed nothing on stderr." : ` Its stderr:\n${stderr}`;
  if (strays === "") return printed;
  return `${printed}\nOn stdout, where only messages belong:\n${strays}`;
}

/** The kept output, in characters. It is longer than a quote, so that no secret is cut in two. */
const keptLength = 16_000;
const quotedLength = 2_000;
const quotedLines = 20;

/** The end of a server's output. @param scrub takes secrets out */
export function createOutputTail(scrub: (text: string) => string) {
  let kept = "";
  let quoted: string | undefined;
  return {
    append(text: string) {
      kept += text;
      // Not each time, because cutting copies, and lines may be short.
      if (kept.length > 2 * keptLength) kept = kept.slice(-keptLength);
      quoted = undefined;
    },
    /** The last lines, without secrets and terminal codes. Empty if the server printed nothing. */
    quote(): string {
      // Many requests may fail with the same output. Stripping is slow for many codes, and may join a secret.
      quoted ??= plainText(scrub(stripVTControlCharacters(scrub(kept).slice(-2 * quotedLength))))
        .trim()
        .split("\n")
        .slice(-quotedLines)
        .join("\n")
        .slice(-quotedLength);
      return quoted;
    },
  };
}

/** A dropped line for the output: as it is, but of broken messages only that there was one. */
export function describeDropped(line: Buffer, reason: string): string {
  const text = line.subarray(0, keptLength).toString().trim();
  return /^\uFEFF?(?:\{\s*"|\[\s*[[{])/.test(text) ? `(a line dropped: ${reason})\n` : `${text}\n`;
}
