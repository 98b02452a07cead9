import { type Principal, principalParts } from "@durable-mcp/core";
import { invalidOption, sameJson } from "@durable-mcp/core/internal";
import { checkSessionName } from "../base/session-name.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import {
  clientConnections,
  type Connections,
  findDeclared,
  mayHaveName,
  type McpConnection,
} from "../declare/mcp-connection.ts";
import { createStepTime } from "../connection/step-time.ts";
import type { NamedSlots } from "../records/named-slots.ts";
import { type ConnectionUse, sharedNeedsStore } from "../records/step-slot.ts";
import type { RunParts } from "./create-run.ts";
import type { NamedConnections } from "./named-connections.ts";
import { connectLater } from "../connection/run-connection.ts";
import { createRunLifetime } from "./run-lifetime.ts";
import type { ConnectionMode, NestOptions } from "./run-scope.ts";

/** The parts that a step shares with all runs inside it. */
export interface StepParts {
  /** @throws {McpSessionError} `CONNECTION_INVALID` */
  readonly declaredFor: (principal: Principal | undefined) => Connections;
  /** Connects on a session that ends with the connection. */
  readonly isolate: (use: ConnectionUse) => LiveConnection;
  readonly namedSlots: NamedSlots;
  /** The connections of named sessions. All runs of the step share them, and the step closes them. */
  readonly namedConnections: () => Promise<NamedConnections>;
}

/** The parts of a run inside another. */
export async function createNestedRun(
  parts: StepParts,
  around: RunParts,
  { modes, principal = around.principal, abortSignal }: NestOptions,
): Promise<RunParts> {
  const isSame = samePrincipal(principal, around.principal);
  const declared = isSame ? around.declared : parts.declaredFor(principal);
  checkModes(modes, declared);
  const step = createStepTime(around.step.signal, abortSignal);
  const throwIfOver = () => {
    abortSignal?.throwIfAborted();
    around.lifetime.throwIfOver();
    step.signal.throwIfAborted();
  };
  throwIfOver();

  const owned: LiveConnection[] = [];
  const connecting = Object.entries(declared).map(async ([connection, definition]) => {
    const use = { slot: { connection }, definition, principal, step };
    const mode = (Object.hasOwn(modes, connection) && modes[connection]) || "inherit";
    const outer = around.connections.find(({ name }) => name === connection)!;
    if (mode === "inherit") {
      if (isSame) return outer;
      throw invalidOption(
        `connections.${connection}`,
        `cannot be inherited under another principal. Use "isolate", { named } or { shared }.`,
      );
    }
    const own: LiveConnection =
      mode === "isolate" ? parts.isolate(use) : await openKept(parts, use, mode, declared);
    if (mode === "isolate") owned.push(own);
    // A sub-agent's call joins one that it repeats, whatever session that was made in.
    if (isSame)
      own.repeatOf ??= async (tool, input, place) =>
        place.path && (await outer.live().repeatOf?.(tool, input, place));
    return connectLater(connection, definition, () => own);
  });
  const connections = await Promise.all(connecting);
  // Loading a named session may have taken a while.
  throwIfOver();
  const outer = around.lifetime;
  const lifetime = createRunLifetime({
    step,
    closeTimeoutMs: outer.closeTimeoutMs,
    track: outer.trackInside,
    around: outer,
  });
  owned.forEach(lifetime.own);
  const { waiting, face, now } = around;
  return { declared, principal, step, connections, lifetime, hasOwner: true, waiting, face, now };
}

/** Opens a session that lasts under a name, or a shared one. */
async function openKept(
  { namedSlots, namedConnections }: StepParts,
  { slot: { connection }, definition, principal }: Omit<ConnectionUse, "step">,
  { named: name, shared }: Exclude<ConnectionMode, string>,
  declared: Connections,
): Promise<LiveConnection> {
  const slot = shared === undefined ? { connection, name } : { connection, shared };
  if (shared !== undefined) checkShared(namedSlots, definition, connection);
  if (!mayHaveName(definition)) {
    throw invalidOption(
      `connections.${connection}`,
      `is stateless, so nothing of it lasts under a name. Use "isolate" or "inherit".`,
    );
  }
  if (principal !== undefined) namedSlots.endIdle(principal, clientConnections(declared));
  return await (await namedConnections()).open(slot, { principal, definition });
}

/** @throws {McpSessionError} `CONNECTION_INVALID` where nobody else could find the session */
function checkShared(
  { keepsShared }: NamedSlots,
  { type }: McpConnection,
  connection: string,
): void {
  const field = `connections.${connection}.shared`;
  if (type === "mcp-stdio") {
    const why = "is for servers over HTTP: no other process finds the process of a stdio server";
    throw invalidOption(
      field,
      `${why}. Put the server behind Streamable HTTP, or use { named } within an agent session`,
    );
  }
  if (!keepsShared) throw sharedNeedsStore(field);
}

function checkModes(modes: NestOptions["modes"], declared: Connections): void {
  for (const [connection, mode] of Object.entries(modes)) {
    const field = `connections.${connection}`;
    if (findDeclared(declared, connection) === undefined) {
      throw invalidOption(field, `is not declared. Declared: ${Object.keys(declared).join(", ")}.`);
    }
    if (mode === undefined || mode === "inherit" || mode === "isolate") continue;
    const { named, shared } = (mode as { named?: unknown; shared?: unknown } | null) ?? {};
    if ((named === undefined) === (shared === undefined)) {
      throw invalidOption(field, `must be "inherit", "isolate", { named } or { shared }.`);
    }
    if (named !== undefined) checkSessionName(named, `${field}.named`);
    else checkSessionName(shared, `${field}.shared`);
  }
}

function samePrincipal(a: Principal | undefined, b: Principal | undefined): boolean {
  return sameJson(a && principalParts(a), b && principalParts(b));
}
