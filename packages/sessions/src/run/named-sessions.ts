import { invalid } from "@durable-mcp/core/internal";
import { type Principal } from "@durable-mcp/core";
import { checkOptions } from "../base/check-options.ts";
import { checkSessionName } from "../base/session-name.ts";
import type { NamedSession, NamedSessions } from "./connection-run.ts";
import {
  clientConnections,
  type Connections,
  findDeclared,
  mayHaveName,
  type McpConnection,
  notDeclared,
} from "../declare/mcp-connection.ts";
import type { NamedConnections } from "./named-connections.ts";
import type { ListedSession, NamedSlots } from "../records/named-slots.ts";
import { namedSchema, signalSchema } from "./run-options.ts";
import { runNested, type RunScope } from "./run-scope.ts";
import type { NamedSlot } from "../records/step-slot.ts";

interface NamedSessionsOptions {
  declared: Readonly<Connections>;
  principal: Principal | undefined;
  slots: NamedSlots;
  live: NamedConnections;
  /** Makes a run inside the own one. */
  nest: RunScope["nest"];
}

export function createNamedSessions(options: NamedSessionsOptions): NamedSessions<any> {
  const { declared, live, nest, principal } = options;
  const partsOf = async (name: string) => {
    checkSessionName(name, "name");
    return (await listParts(options)).filter((part) => part.name === name).toSorted(byConnection);
  };
  const endParts = async (parts: readonly Pick<NamedSlot, "connection" | "name">[]) => {
    const ends = parts.map(({ connection, name }) =>
      live.end({ connection, name }, principal, findDeclared(declared, connection)),
    );
    return await Promise.all(ends);
  };
  const named: NamedSessions = {
    async create(name, creation = {}) {
      checkSessionName(name, "name");
      const { connections, idleTimeoutMs } = checkOptions(namedSchema, creation);
      const chosen = chooseNamed(declared, connections);
      return await live.alone(name, principal, async () => {
        if ((await partsOf(name)).length > 0) {
          throw invalid("name", `There is a named session ${quote(name)} already. Use named.run.`);
        }
        const creations = chosen.map(async ([connection, definition]) => {
          await live.create({ connection, name }, { principal, definition, idleTimeoutMs });
        });
        const outcomes = await Promise.allSettled(creations);
        const failure = outcomes.find((outcome) => outcome.status === "rejected");
        if (failure === undefined) return (await named.find(name))!;
        const made = chosen.map(([connection]) => ({ connection, name }));
        await endParts(made).catch(() => undefined);
        throw failure.reason;
      });
    },

    async find(name) {
      const own = await partsOf(name);
      return own.length > 0 ? together(name, own) : undefined;
    },

    async list() {
      const byName = Map.groupBy(await listParts(options), ({ name }) => name);
      const sorted = [...byName].toSorted(([a], [b]) => (a < b ? -1 : 1));
      return sorted.map(([name, own]) => together(name, own));
    },

    async run(name, use, runOptions = {}) {
      const { abortSignal } = checkOptions(signalSchema, runOptions);
      const own = (await partsOf(name)).map(({ connection }) => connection);
      const make = `There is no named session ${quote(name)}. Make it with named.create.`;
      if (own.length === 0) throw invalid("name", make);
      const usable = own.filter((connection) => mayHaveName(findDeclared(declared, connection)));
      if (usable.length === 0) {
        throw invalid(
          "name",
          `No connection of the named session ${quote(name)} is still declared as stateful, or as a stdio server (${own.join(", ")}). Declare one, or end the session with named.end.`,
        );
      }
      const modes = Object.fromEntries(usable.map((connection) => [connection, { named: name }]));
      return await runNested({ nest }, { modes, abortSignal }, use);
    },

    end: async (name) => await endParts(await partsOf(name)),
  };
  return named;
}

/** The parts of all named sessions. Each has one part for each of its connections. */
async function listParts({ declared, principal, slots, live }: NamedSessionsOptions) {
  const processes = live.processes(principal);
  // Without a stateful connection a run needs no principal, and only has processes under names.
  if (principal === undefined) return processes;
  slots.endIdle(principal, clientConnections(declared));
  const kept = await slots.list(principal);
  // A restart is only written at the end of the step.
  const now = kept.map((part) => ({ ...part, kind: live.kindOf(part, principal) ?? part.kind }));
  return [...now, ...processes];
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

/** The connections of a new named session. By default all that can keep something. */
function chooseNamed(
  declared: Readonly<Connections>,
  chosen: readonly string[] | undefined,
): (readonly [connection: string, definition: McpConnection])[] {
  const names = chosen === undefined ? Object.keys(declared) : [...new Set(chosen)];
  const usable = names.flatMap((connection) => {
    const definition = findDeclared(declared, connection);
    if (mayHaveName(definition)) return [[connection, definition] as const];
    if (chosen === undefined) return [];
    if (!definition) throw notDeclared(connection, Object.keys(declared), "connections");
    throw invalid(
      "connections",
      `Connection ${quote(connection)} is stateless, so nothing of it lasts under a name.`,
    );
  });
  if (usable.length > 0) return usable;
  throw invalid(
    "connections",
    "A named session needs at least one connection that is stateful, or a stdio server.",
  );
}

function quote(text: string): string {
  return JSON.stringify(text);
}
