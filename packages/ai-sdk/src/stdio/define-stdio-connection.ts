import type { MCPClientCapabilities, ElicitationRequest, ElicitResult } from "@ai-sdk/mcp";
import * as z from "zod/mini";
import {
  checkOptions,
  type ConnectionContext,
  type ConnectionToolSchemas,
  names,
  someFunction,
  someObject,
  type StatefulSessionOptions,
  text,
  timeout,
  toolFilter,
} from "../define-connection.ts";
import { openConnection, type OpenConnection } from "../open-connection.ts";
import { createStdioConnection } from "./stdio-connection.ts";

type Awaitable<T> = T | Promise<T>;

/** How a server's process is replaced and what is said of it; each means what it does elsewhere. */
export type StdioSessionOptions = Pick<
  StatefulSessionOptions,
  "resend" | "safeTools" | "trustAnnotations" | "recover" | "onStart" | "lossNotice"
>;

export interface McpStdioConnectionOptions<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
> {
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
  /** What the connection is for, for people and for prompts. */
  readonly description: string;
  /** What becomes of calls, and of the model's picture, when the process is replaced. */
  readonly session?: StdioSessionOptions | undefined;
  /** Which of the server's tools are offered, by the server's names. @default all */
  readonly tools?:
    | { readonly allow: readonly string[] }
    | { readonly block: readonly string[] }
    | undefined;
  /** Typed and validated tools; only these are offered then. Otherwise the server's JSON Schema is used. */
  readonly schemas?: SCHEMAS;
  /** Client capabilities to declare. */
  readonly capabilities?: MCPClientCapabilities | undefined;
  /** Answers the server's elicitation requests; declares the capability. */
  readonly onElicitation?:
    | ((request: ElicitationRequest, context: ConnectionContext) => Awaitable<ElicitResult>)
    | undefined;
  readonly timeouts?:
    | {
        /**
         * For the handshake, the start of the process included, and for listing tools, in
         * milliseconds. Long enough for `npx` to download a small package. @default 30000
         */
        readonly connectMs?: number | undefined;
        /** For each tool call, in milliseconds; it fails with `OUTCOME_UNKNOWN`. @default none */
        readonly callMs?: number | undefined;
        /** For `session.onStart`, in milliseconds. @default 60000 */
        readonly startMs?: number | undefined;
        /**
         * How long the server has to end by itself when its stdin is closed, and again after
         * SIGTERM, before SIGKILL, in milliseconds. @default 1000
         */
        readonly closeMs?: number | undefined;
      }
    | undefined;
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
  description: text,
  session: z.optional(
    z.strictObject({
      resend: z.optional(z.literal(["safe", "always", "never"])),
      safeTools: z.optional(names),
      trustAnnotations: z.optional(z.boolean()),
      recover: z.optional(z.boolean()),
      onStart: z.optional(someFunction),
      lossNotice: z.optional(z.union([text, z.literal(false)])),
    }),
  ),
  tools: toolFilter,
  schemas: z.optional(someObject),
  capabilities: z.optional(someObject),
  onElicitation: z.optional(someFunction),
  timeouts: z.optional(
    z.strictObject({
      connectMs: z.optional(timeout),
      callMs: z.optional(timeout),
      startMs: z.optional(timeout),
      closeMs: z.optional(timeout),
    }),
  ),
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
