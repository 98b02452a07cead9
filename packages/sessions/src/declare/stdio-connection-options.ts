import type { McpSessionError } from "@durable-mcp/core";
import type { JsonRpcId, JsonRpcMessage } from "@durable-mcp/core/internal";
import type { McpClient } from "../base/mcp-client.ts";
import type { Awaitable, ConnectionContext } from "./connection-context.ts";
import type {
  ConnectionOptions,
  ConnectionTimeouts,
  SessionReplacementOptions,
} from "./connection-options.ts";
import type { ConnectionToolSchemas, ToolNamePrefix } from "./tool-options.ts";

/** How a server's process is prepared, replaced, and reported as lost. */
export interface StdioSessionOptions<CLIENT = McpClient> extends SessionReplacementOptions<CLIENT> {
  /** `"replace"`: the next use starts another process. `"report"`: none does. @default "replace" */
  readonly onLoss?: "replace" | "report" | undefined;
}

/** The options of a connection to a program on this machine. */
export interface McpStdioConnectionOptions<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
  PREFIX extends ToolNamePrefix = ToolNamePrefix,
  CLIENT = McpClient,
> extends ConnectionOptions<SCHEMAS, PREFIX> {
  /** The program to run: a path, or a name on `PATH`. No shell reads it. */
  readonly command: string;
  /**
   * Arguments that name themselves secret, such as `--api-key=…`, count as secrets, but every user of the
   * machine can read them. @default none
   */
  readonly args?: readonly string[] | undefined;
  /**
   * Environment variables of the server, over the few inherited ones (`PATH`, `HOME` and their like).
   * Functions are called at each start of a process. Values count as secrets: error messages do not
   * quote them.
   */
  readonly env?:
    | Readonly<Record<string, string | ((context: ConnectionContext) => Awaitable<string>)>>
    | undefined;
  /** The server's working directory. @default the working directory of this process */
  readonly cwd?: string | undefined;
  /**
   * Whether the provider's `pool` may keep the server for the next run. With `false` each run starts its
   * own and ends it. @default true
   */
  readonly reuse?: boolean | undefined;
  readonly session?: StdioSessionOptions<CLIENT> | undefined;
  readonly timeouts?: StdioConnectionTimeouts | undefined;
}

interface StdioConnectionTimeouts extends ConnectionTimeouts {
  /**
   * For the handshake, the start of the process included, and for listing tools, in
   * milliseconds. Long enough for `npx` to download a small package. @default 30000
   */
  readonly connectMs?: number | undefined;
  /**
   * The server's time to end by itself after its stdin is closed, and again after SIGTERM, before
   * SIGKILL, in milliseconds. @default 1000
   */
  readonly closeMs?: number | undefined;
}

/** A declared stdio server. Made by `defineMcpStdioConnection`, with clients of any package. */
export interface McpStdioConnection<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
  PREFIX extends ToolNamePrefix = ToolNamePrefix,
> {
  readonly type: "mcp-stdio";
  readonly options: McpStdioConnectionOptions<SCHEMAS, PREFIX, any>;
  /** Makes the live connection of one run, which owns it. Starts nothing yet. @internal */
  readonly [openConnection]: (step: any) => unknown;
  /** Starts the program for whoever speaks the protocol with it. @internal */
  readonly [startProgram]: (use: ProgramUse) => Promise<RunningProgram>;
}

/** Who starts a program, and gets its messages. */
export interface ProgramUse extends Omit<ConnectionContext, "abortSignal"> {
  readonly onMessage: (message: JsonRpcMessage) => void;
  /** Called for a request that met the end of the program, with the end of its output, without secrets. */
  readonly onLost: (id: JsonRpcId, why: McpSessionError) => void;
}

/** A program that runs, with its children. */
export interface RunningProgram {
  /** With the signal a request is cancelled. Rejects when it cannot be sent. */
  readonly send: (message: JsonRpcMessage, signal?: AbortSignal) => Promise<void>;
  /** Settles when the program has ended, and before its children. */
  readonly exited: Promise<void>;
  /** Why it has not answered the handshake, with the end of its output, without secrets. */
  readonly failure: (cause?: unknown) => McpSessionError;
  /** Ends it with its children. */
  readonly close: () => Promise<void>;
}

/** The key under which a definition has the function that starts its program. */
export const startProgram: unique symbol = Symbol.for(
  "durable-mcp.startProgram",
) as unknown as typeof startProgram;

/**
 * The key under which a definition has the function that opens it. The run thus need not load
 * anything that needs Node. It is the same symbol in each copy of this package.
 */
export const openConnection: unique symbol = Symbol.for(
  "durable-mcp.openConnection",
) as unknown as typeof openConnection;
