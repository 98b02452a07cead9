import { checkOptions, isPromise } from "../base/check-options.ts";
import type { Lend } from "../base/loaded-later.ts";
import { createMakeTools, type ListTools, offerStandIn, offerTools } from "../tools/offer-tools.ts";
import { createOfferedTool } from "../tools/create-offered-tool.ts";
import { asOffered, type OfferedTool, offeredToolOf } from "../tools/offered-tool.ts";
import { withoutCollisions } from "../tools/same-names.ts";
import { prefixOf } from "../tools/tool-name.ts";
import type { RunConnection } from "../connection/run-connection.ts";
import { toolsSchema } from "./run-options.ts";
import type { FacedRun, ToolFace, ToolsByName, ToolsOptions } from "./tool-face.ts";
import type { ConnectionUses, useConnections } from "./use-connections.ts";

/** The part of a run in the tools that its connections offer. */
export interface ToolOffers {
  /**
   * The tools of connections under names that are their own; by default all that their servers list. With `"stand-in"`
   * only a connection whose user has to sign in has a stand-in, and another one that is down throws.
   *
   * @param list gives other tools of a connection
   * @throws {McpSessionError} as `tools` of a run
   */
  readonly offer: (
    options?: Omit<ToolsOptions, "onUnavailable"> & {
      readonly onUnavailable?: "omit" | "stand-in" | "throw" | undefined;
    },
    list?: ListTools,
  ) => Promise<OfferedTool[]>;
  /** The same tool on this run's connection. */
  readonly again: (
    tool: Pick<OfferedTool, "connection" | "listed" | "name" | "isStandIn">,
  ) => OfferedTool;
  /**
   * Tells which names of active tools are none of the connections' tools. A connection without any tool is down, which
   * is told elsewhere.
   *
   * @param tools of the connections, as a face makes them, and others
   */
  readonly tellUnmatched: (active: readonly unknown[] | undefined, tools: ToolsByName) => void;
}

function createToolOffers(
  connections: readonly RunConnection[],
  { find, collect, emit }: ConnectionUses,
): ToolOffers {
  const all = () => connections.map(({ name }) => name);
  return {
    async offer({ connections: names = all(), onUnavailable = "omit" } = {}, list) {
      const sets = await collect(
        [...new Set(names)],
        async (connection) =>
          list ? await list(connection, createMakeTools(connection)) : await offerTools(connection),
        onUnavailable,
        async (connection, startUrl) => [await offerStandIn(connection, startUrl)],
      );
      const isThrown = onUnavailable === "throw" ? "throw" : "omit";
      for (const tool of sets.flat())
        tool.lend = async (use) => {
          find(tool.connection);
          return await use(tool);
        };
      return withoutCollisions(sets.flat(), { onUnavailable: isThrown, emit });
    },
    again: ({ connection, ...tool }) => createOfferedTool(find(connection), tool),
    tellUnmatched(active = [], tools) {
      const unmatched = active.map(String).filter((name) => !Object.hasOwn(tools, name));
      if (unmatched.length === 0) return;
      const offered = Object.values(tools as Record<string, object>).map(offeredToolOf);
      const up = new Set(offered.map((tool) => !tool?.isStandIn && tool?.connection));
      const prefixes = connections.map(({ name, definition }) => ({
        name,
        prefix: prefixOf(name, definition.options),
      }));
      /** Those whose tool it would be: without a prefix that fits better, any name can be theirs. */
      const ownersOf = (tool: string) => {
        const fitting = prefixes.filter(({ prefix }) => tool.startsWith(prefix));
        const longest = Math.max(...fitting.map(({ prefix }) => prefix.length));
        return fitting.filter(({ prefix }) => prefix.length === longest).map(({ name }) => name);
      };
      for (const { name: connection } of connections) {
        const missing = unmatched.filter((tool) => {
          const owners = ownersOf(tool);
          return owners.includes(connection) && owners.every((name) => up.has(name));
        });
        if (missing.length === 0) continue;
        emit({ type: "tools-unmatched", connection, option: "activeTools", tools: missing });
      }
    },
  };
}

/** `tools` of a run: those of its connections as a face makes them, by their names for the model. */
export function createTools(
  face: Pick<ToolFace, "dress">,
  lend: Lend<Pick<ToolOffers, "offer">>,
): FacedRun["tools"] {
  return async (options) =>
    await lend(async ({ offer }) => {
      const tools: [name: string, tool: object][] = [];
      for (const tool of await offer(
        options === undefined ? options : checkOptions(toolsSchema, options),
      )) {
        const made = face.dress(tool);
        // There may be hundreds, so nothing is awaited that is known at once.
        const dressed = isPromise(made) ? await made : made;
        if (dressed !== undefined) tools.push([tool.name, asOffered(dressed as object, tool)]);
      }
      return Object.fromEntries(tools);
    });
}

/** What a run offers. A step says at its begin what it does without a connection. */
export function createOffers(
  connections: readonly RunConnection[],
  uses: ReturnType<typeof useConnections>,
) {
  const { offer, ...offers } = createToolOffers(connections, uses);
  let byDefault: ToolsOptions["onUnavailable"];
  return {
    ...offers,
    offer: async (options: Parameters<typeof offer>[0], list?: ListTools) =>
      await offer({ onUnavailable: byDefault, ...options }, list),
    begin: async (onUnavailable: ToolsOptions["onUnavailable"]) => {
      byDefault = onUnavailable;
      await uses.connect(onUnavailable);
    },
  };
}
