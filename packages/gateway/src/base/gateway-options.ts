import { checkDeclared, type McpConnection, type OnEvent } from "./centre.ts";
import type { Principal, SessionStore } from "@durable-mcp/core";
import { checkKnown, invalidOption, isRecord, type OptionKinds } from "@durable-mcp/core/internal";

/** Options of `createGateway`. */
export interface GatewayOptions {
  /**
   * The servers, from `defineMcpClientConnection` and `defineMcpStdioConnection`. The last part of a request's path
   * names one, and after an `@` a session that several clients have. Each other client session is a session of the
   * server, whatever the definition says, and a program has a process for each session.
   */
  readonly connections: Readonly<Record<string, McpConnection>>;
  /** Keeps the sessions. All processes of a gateway have the same. */
  readonly store: SessionStore;
  /** Whether other processes have the store. Programs live in one process, so with them it is `"one"`. @default "many" */
  readonly processes?: "one" | "many" | undefined;
  /** The programs of which one process serves all sessions of a principal. @default none */
  readonly sharedPrograms?: readonly string[] | undefined;
  /** On whose behalf a request comes; `undefined`: nobody's, and it is answered with 401. */
  readonly principal: (request: Request) => Principal | undefined | Promise<Principal | undefined>;
  /** The names under which the gateway is reached. @default this machine's own */
  readonly allowedHosts?: readonly string[] | "any" | undefined;
  /** The pages that may send requests. @default those of `allowedHosts` */
  readonly allowedOrigins?: readonly string[] | "any" | undefined;
  /** The longest body of a request, in bytes. @default 4194304 (4 MiB) */
  readonly maxBodyBytes?: number | undefined;
  /** How many sessions a principal may have, 1 to 1000. @default 1000 */
  readonly maxSessions?: number | undefined;
  /** A session that nobody uses leaves this process after this time, in milliseconds. It stays in the store. @default 300000 (5 minutes) */
  readonly idleMs?: number | undefined;
  /** Gets the events of the connections. @default warns on the console */
  readonly onEvent?: OnEvent | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

const kinds: OptionKinds<GatewayOptions> = {
  connections: checkConnections,
  ...{ store: { methods: ["get", "put", "list"], is: "a store" }, principal: "function" },
  ...{ processes: { oneOf: ["one", "many"] }, sharedPrograms: checkNames },
  allowedHosts: checkNames,
  allowedOrigins: checkNames,
  ...{ maxBodyBytes: [1], maxSessions: [1, 1_000], idleMs: "ms" },
  ...{ onEvent: "anything", now: "function" },
};

/** @throws {McpSessionError} `CONNECTION_INVALID`, naming the option */
export function checkGatewayOptions(options: GatewayOptions): void {
  checkKnown(options, kinds, { required: ["connections", "store", "principal"] });
  const { connections, processes, sharedPrograms = [] } = options;
  const isProgram = (name: string) =>
    Object.hasOwn(connections, name) && connections[name]!.type === "mcp-stdio";
  const program = Object.keys(connections).find(isProgram);
  if (program !== undefined && processes !== "one")
    throw invalidOption(
      `connections.${program}`,
      'is a program, which lives in one process. Set processes: "one" if no other process has the store',
    );
  const stranger = sharedPrograms.find((name) => !isProgram(name));
  if (stranger !== undefined)
    throw invalidOption("sharedPrograms", `must be names of programs, and ${stranger} is none`);
}

/** Of a definition. A gateway passes messages on: what changes tools or calls would be silently left out. */
const known = {
  "mcp-client":
    "url description session auth headers timeouts fetch waiting client capabilities".split(" "),
  "mcp-stdio": "command args env cwd description session timeouts client capabilities".split(" "),
};
const knownOfSession = "mode resend classifyLoss onLoss lossNotice maxAgeMs toolList".split(" ");

function checkConnections(connections: unknown, field: string): void {
  checkDeclared(connections);
  const declared = connections as GatewayOptions["connections"];
  for (const [name, { type, options }] of Object.entries(declared)) {
    const own = `${field}.${name}`;
    refuseUnknown(options, known[type], own);
    const { session } = options;
    if (isRecord(session)) refuseUnknown(session, knownOfSession, `${own}.session`);
  }
}

function refuseUnknown(options: object, taken: readonly string[], field: string): void {
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && !taken.includes(name))
      throw invalidOption(
        `${field}.${name}`,
        "is not for a gateway, whose clients see what the server has",
      );
}

function checkNames(value: unknown, field: string): void {
  const areNames = Array.isArray(value) && value.every((name) => typeof name === "string");
  if (value !== "any" && !areNames) throw invalidOption(field, 'must be a list of names, or "any"');
}
