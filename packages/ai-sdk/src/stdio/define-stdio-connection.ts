import * as z from "zod/mini";
import { checkOptions } from "../connection/check-options.ts";
import type {
  Awaitable,
  ConnectionContext,
  ConnectionOptions,
  ConnectionTimeouts,
  ConnectionToolSchemas,
} from "../connection/connection-options.ts";
import { openConnection, type OpenConnection } from "../connection/open-connection.ts";
import {
  connectionFields,
  replacementFields,
  someFunction,
  text,
  timeout,
  timeoutFields,
} from "../connection/option-schemas.ts";
import type { SessionReplacementOptions } from "../connection/session-options.ts";
import { createStdioConnection } from "./stdio-connection.ts";

/** How a server's process is replaced and what is said of it; each means what it does elsewhere. */
export type StdioSessionOptions = SessionReplacementOptions;

/** The options of a connection to a program on this machine. */
export interface McpStdioConnectionOptions<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
> extends ConnectionOptions<SCHEMAS> {
  /** The program to run: a path, or a name that is looked up on `PATH`. No shell reads it. */
  readonly command: string;
  /** @default none */
  readonly args?: readonly string[] | undefined;
  /**
   * Environment variables of the server, over the few that it inherits (`PATH`, `HOME` and their
   * like). Functions are called for each process that is started. Values are taken for secrets:
   * error messages do not quote them.
   */
  readonly env?:
    | Readonly<Record<string, string | ((context: ConnectionContext) => Awaitable<string>)>>
    | undefined;
  /** The server's working directory. @default that of this process */
  readonly cwd?: string | undefined;
  /** What becomes of calls, and of the model's picture, when the process is replaced. */
  readonly session?: StdioSessionOptions | undefined;
  readonly timeouts?: StdioConnectionTimeouts | undefined;
}

interface StdioConnectionTimeouts extends ConnectionTimeouts {
  /**
   * For the handshake, the start of the process included, and for listing tools, in
   * milliseconds. Long enough for `npx` to download a small package. @default 30000
   */
  readonly connectMs?: number | undefined;
  /**
   * How long the server has to end by itself when its stdin is closed, and again after
   * SIGTERM, before SIGKILL, in milliseconds. @default 1000
   */
  readonly closeMs?: number | undefined;
}

/** A declared stdio server. Made by `defineMcpStdioConnection`. */
export interface McpStdioConnection<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
> {
  readonly type: "mcp-stdio";
  readonly options: McpStdioConnectionOptions<SCHEMAS>;
  /** How the registry opens it. @internal */
  readonly [openConnection]: OpenConnection;
}

// The operating system ends a string at the first of these.
const argument = z.string().check(z.regex(/^[^\0]*$/, "must not contain a null character"));

const optionsSchema = z.strictObject({
  command: text.check(z.regex(/^[^\0]*$/, "must not contain a null character")),
  args: z.optional(z.array(argument)),
  env: z.optional(
    z.record(
      z.string().check(z.regex(/^[^=\0]+$/, "must be the name of an environment variable")),
      z.union([argument, someFunction], "must be a string, or a function that returns one"),
    ),
  ),
  cwd: z.optional(text),
  ...connectionFields,
  session: z.optional(z.strictObject(replacementFields)),
  timeouts: z.optional(z.strictObject({ ...timeoutFields, closeMs: z.optional(timeout) })),
});

/**
 * Declares an MCP server that is a program on this machine and talks over its stdin and stdout. Each
 * registry runs a process of its own, from first use until it is disposed of; nothing of it is
 * saved.
 *
 * @example
 * defineMcpStdioConnection({
 *   command: "npx",
 *   args: ["-y", "@modelcontextprotocol/server-memory"],
 *   description: "A knowledge graph.",
 * })
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field and how to fix it
 */
export function defineMcpStdioConnection<
  const SCHEMAS extends ConnectionToolSchemas | undefined = undefined,
>(options: McpStdioConnectionOptions<SCHEMAS>): McpStdioConnection<SCHEMAS> {
  checkOptions(optionsSchema, options);
  const own = Object.freeze({ ...options });
  return Object.freeze({
    type: "mcp-stdio",
    options: own,
    [openConnection]: (step) => createStdioConnection({ options: own, ...step }),
  } satisfies McpStdioConnection<SCHEMAS>);
}
