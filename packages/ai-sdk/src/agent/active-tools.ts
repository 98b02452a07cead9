import type { ConnectionRun } from "@durable-mcp/sessions";
import { runInternalsOf, connectionOf, prefixOf } from "@durable-mcp/sessions/internal";

/**
 * Tells which of an agent's `activeTools` are none of its connections' tools. A connection without any
 * tool is down, which is told elsewhere.
 *
 * @param tools the connections' tools, and the agent's own
 */
export async function tellUnmatched(
  run: ConnectionRun<any>,
  tools: Readonly<Record<string, object>>,
  activeTools: readonly unknown[] | undefined,
): Promise<void> {
  const unmatched = (activeTools ?? []).map(String).filter((name) => !Object.hasOwn(tools, name));
  if (unmatched.length === 0) return;
  await runInternalsOf(run)(async ({ find }) => {
    const up = new Set(Object.values(tools).map(connectionOf));
    const connections = run.connections.map(({ name }) => {
      const { emit, definition } = find(name);
      return { name, emit, prefix: prefixOf(name, definition.options) };
    });
    /** Those whose tool it would be: without a prefix that fits better, any name can be theirs. */
    const ownersOf = (tool: string) => {
      const fitting = connections.filter(({ prefix }) => tool.startsWith(prefix));
      const longest = Math.max(...fitting.map(({ prefix }) => prefix.length));
      return fitting.filter(({ prefix }) => prefix.length === longest);
    };
    for (const { name: connection, emit } of connections) {
      const missing = unmatched.filter((tool) => {
        const owners = ownersOf(tool);
        const isOwn = owners.some(({ name }) => name === connection);
        return isOwn && owners.every(({ name }) => up.has(name));
      });
      if (missing.length === 0) continue;
      emit({ type: "tools-unmatched", connection, option: "activeTools", tools: missing });
    }
  });
}
