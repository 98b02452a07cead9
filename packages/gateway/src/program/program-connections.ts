import {
  defineMcpClientConnection,
  type McpClientConnection,
  type McpConnection,
  type McpStdioConnection,
} from "../base/centre.ts";
import { createProgramFetch, principalHeader } from "./program-fetch.ts";

const noClient = () => Promise.reject(new Error("A gateway has no client of its own."));

/** The programs among the connections, each as a server with a URL that only this process has. */
export function createPrograms(
  connections: Readonly<Record<string, McpConnection>>,
  shared: readonly string[] = [],
) {
  const fetches = new Map<string, ReturnType<typeof createProgramFetch>>();
  const asServer = (name: string, definition: McpStdioConnection): McpClientConnection => {
    const { session, timeouts, description, client, capabilities } = definition.options;
    const program = createProgramFetch(definition, name, shared.includes(name));
    fetches.set(name, program);
    const { connectMs = 30_000, closeMs: _, ...limits } = timeouts ?? {};
    return defineMcpClientConnection(
      {
        ...{
          url: `http://${name.toLowerCase()}.program.invalid/`,
          description,
          client,
          capabilities,
        },
        session: { ...session, mode: "stateful" },
        // The program's own failure comes first, and says why.
        timeouts: { ...limits, connectMs: connectMs + 1_000 },
        headers: {
          [principalHeader]: ({ principal }) => encodeURIComponent(JSON.stringify(principal)),
        },
        fetch: async (_url, init) => await program.fetch(init),
      },
      { createClient: noClient, renewLogin: noClient },
    );
  };
  const served = Object.entries(connections).map(
    ([name, definition]) =>
      [name, definition.type === "mcp-stdio" ? asServer(name, definition) : definition] as const,
  );
  return {
    connections: Object.fromEntries(served),
    /** Ends the program of a session that nobody uses. The next use starts another. */
    rest: async (connection: string, id: string) => await fetches.get(connection)?.rest(id),
    async close(): Promise<void> {
      await Promise.all([...fetches.values()].map((program) => program.close()));
    },
  };
}
