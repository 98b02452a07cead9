import { checkMs, invalid } from "@durable-mcp/core/internal";
import { type Principal } from "@durable-mcp/core";
import type { NamedSession, NamedSessions } from "./connection-registry.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";
import {
  clientConnections,
  findDeclared,
  hasSession,
  type McpConnection,
} from "../connection/mcp-connection.ts";
import type { NamedConnections } from "./named-connections.ts";
import type { ListedSession, NamedSlots } from "../slots/named-slots.ts";
import { runNested, type RunScope } from "./run-scope.ts";
import { checkSessionName, type NamedSlot } from "../slots/slot-name.ts";
import type { EndedSession } from "../slots/session-reports.ts";

/** @param options.nest makes a run inside the one that the registry is of */
export function createNamedSessions({
  declared,
  principal,
  slots,
  live,
  nest,
}: {
  declared: Readonly<Record<string, McpConnection>>;
  principal: Principal | undefined;
  slots: NamedSlots;
  live: NamedConnections;
  nest: RunScope["nest"];
}): NamedSessions<any> {
  const clients = clientConnections(declared);
  const definitionOf = (connection: string) => findDeclared(clients, connection);
  // Without a stateful connection a registry needs no principal, and has no named sessions.
  const list = async () => {
    if (principal === undefined) return [];
    slots.endIdle(principal, clients);
    return await slots.list(principal);
  };

  const partsOf = async (name: string) => {
    checkSessionName(name, "name");
    const parts = (await list()).filter((kept) => kept.name === name);
    return parts.toSorted(byConnection);
  };
  const existing = async (name: string) => {
    const parts = await partsOf(name);
    if (parts.length > 0) return parts;
    throw invalid("name", `There is no session ${JSON.stringify(name)}. Make it with create.`);
  };
  const endParts = async (parts: readonly NamedSlot[], mode: "restart" | "end") =>
    await Promise.all(
      parts.map(async ({ name, connection }): Promise<EndedSession> => {
        const definition = definitionOf(connection);
        return await live.end({ name, connection }, { principal: principal!, definition, mode });
      }),
    );

  const named: NamedSessions = {
    async create(name, { connections, idleTimeoutMs } = {}) {
      checkSessionName(name, "name");
      checkMs(idleTimeoutMs, "idleTimeoutMs");
      const definitions = chooseStateful(declared, connections);
      const all = definitions.map(([connection]) => ({ connection, name }));
      return await live.alone(name, principal!, async () => {
        if ((await partsOf(name)).length > 0) {
          throw invalid("name", `There is a session ${JSON.stringify(name)} already. Use run.`);
        }
        const creations = definitions.map(async ([connection, definition]) => {
          const use = { principal: principal!, definition };
          await live.create({ connection, name }, use, idleTimeoutMs);
        });
        const outcomes = await Promise.allSettled(creations);
        const failure = outcomes.find((outcome) => outcome.status === "rejected");
        if (failure === undefined) return (await named.find(name))!;
        await endParts(all, "end").catch(() => undefined);
        throw failure.reason;
      });
    },

    async find(name) {
      const parts = await partsOf(name);
      return parts.length > 0 ? together(name, parts) : undefined;
    },

    async list() {
      const byName = Map.groupBy(await list(), ({ name }) => name);
      const sorted = [...byName].toSorted(([a], [b]) => (a < b ? -1 : 1));
      return sorted.map(([name, parts]) => together(name, parts));
    },

    async run(name, use, { abortSignal } = {}) {
      const parts = await existing(name);
      const stateful = parts.filter(({ connection }) => hasSession(definitionOf(connection)));
      if (stateful.length === 0) {
        throw invalid(
          "name",
          `Session ${JSON.stringify(name)} is of no connection that is declared.`,
        );
      }
      const modes = Object.fromEntries(
        stateful.map(({ connection }) => [connection, { named: name }]),
      );
      return await runNested({ nest }, { modes, abortSignal }, use);
    },

    async restart(name) {
      return await endParts(await existing(name), "restart");
    },

    async clearTools(name) {
      const parts = await existing(name);
      await Promise.all(
        parts.map(async (part) => {
          const definition = definitionOf(part.connection);
          await live.clearTools(part, { principal: principal!, definition });
        }),
      );
    },

    async end(name) {
      return await endParts(await partsOf(name), "end");
    },
  };
  return named;
}

function together(name: string, parts: readonly ListedSession[]): NamedSession {
  const timeouts = parts.flatMap(({ idleTimeoutMs }) => idleTimeoutMs ?? []);
  return {
    name,
    lastUsedAt: Math.max(...parts.map(({ lastUsedAt }) => lastUsedAt)),
    ...(timeouts.length > 0 && { idleTimeoutMs: Math.min(...timeouts) }),
    connections: parts.map(withoutName).toSorted(byConnection),
  };
}

function withoutName(listed: ListedSession): NamedSession["connections"][number] {
  const { name: _, ...part } = listed;
  return part;
}

function byConnection(a: { connection: string }, b: { connection: string }): number {
  return a.connection < b.connection ? -1 : 1;
}

function chooseStateful(
  declared: Readonly<Record<string, McpConnection>>,
  chosen: readonly string[] | undefined,
): (readonly [connection: string, definition: McpClientConnection])[] {
  const names = chosen === undefined ? Object.keys(declared) : [...new Set(chosen)];
  const stateful = names.flatMap((connection) => {
    const definition = findDeclared(declared, connection);
    if (hasSession(definition)) return [[connection, definition] as const];
    if (chosen === undefined) return [];
    const what = definition === undefined ? "is not declared" : "is not stateful";
    const own = JSON.stringify(connection);
    throw invalid("connections", `Connection ${own} ${what}: nothing of it lasts under a name.`);
  });
  if (stateful.length > 0) return stateful;
  throw invalid("connections", "There is no stateful connection to have a named session on.");
}
