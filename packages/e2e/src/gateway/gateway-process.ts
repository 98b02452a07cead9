import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toNodeHandler } from "@durable-mcp/server/node";
import { programArguments } from "../processes/programs.ts";
import { startServerProcess, type TestServer } from "../servers/server-process.ts";

const main = new URL("../../../cli/src/main.ts", import.meta.url);

const run = (program: URL) => [
  "--disable-warning=ExperimentalWarning",
  ...programArguments(program),
];

/** Arguments for Node that run the command line. */
export const commandLine = () => run(main);

/** A process of `durable-mcp gateway`. */
export interface GatewayProcess extends TestServer {
  /** The address of a server of the file. */
  readonly urlOf: (name: string) => string;
}

interface GatewayProcessOptions {
  readonly processes?: number | undefined;
  /** @default a file of SQLite of its own */
  readonly store?: string | undefined;
  /** Each operation of the store after so many others fails. */
  readonly failing?: number | undefined;
}

const failingStore = new URL("failing-store-program.ts", import.meta.url);

/**
 * Starts processes of one gateway over a SQLite store of their own, before these servers.
 *
 * @param servers URLs, or entries of the file
 */
export async function startGateway(
  servers: Readonly<Record<string, string | object>>,
  { processes = 1, store, failing }: GatewayProcessOptions = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-gateway-"));
  const file = join(folder, "mcp.json");
  const entries = Object.entries(servers).map(([name, server]) => [
    name,
    typeof server === "string" ? { url: server } : server,
  ]);
  writeFileSync(file, JSON.stringify({ mcpServers: Object.fromEntries(entries) }));
  const address = store ?? `file:${join(folder, "gateway.db")}`;
  const start = async (): Promise<GatewayProcess> => {
    const started = await startServerProcess({
      name: "gateway",
      args: (port) =>
        failing === undefined
          ? [
              ...commandLine(),
              "gateway",
              file,
              "--start",
              "--store",
              address,
              "--port",
              String(port),
            ]
          : [...run(failingStore), file, address, String(port), String(failing)],
      path: "/health",
    });
    return { ...started, urlOf: (name) => new URL(`/mcp/${name}`, started.url).href };
  };
  // One makes the tables.
  const all = [await start()];
  all.push(...(await Promise.all(Array.from({ length: processes - 1 }, start))));
  return {
    processes: all,
    stop: async () => {
      await Promise.all(all.map((each) => each.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Sends each request to the next process, as a balancer does; one that does not listen is passed over.
 *
 * @param onSend gets the number of the process, and the request
 */
export function balanced(
  processes: readonly GatewayProcess[],
  onSend?: (process: number, init?: RequestInit) => void,
): typeof globalThis.fetch {
  let turn = 0;
  return async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    for (let tries = 1; ; tries += 1) {
      const next = turn++ % processes.length;
      const { url } = processes[next]!;
      onSend?.(next, init);
      try {
        return await fetch(new URL(pathname, url), init);
      } catch (error) {
        const { code } = ((error as Error).cause ?? {}) as { code?: string };
        if (code !== "ECONNREFUSED" || tries >= processes.length * 50) throw error;
        if (tries % processes.length === 0)
          await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  };
}

/** One address before all processes, for clients that come back only twice, a second apart. */
export async function startBalancer(processes: readonly GatewayProcess[]) {
  const send = balanced(processes);
  const handle = async (request: Request) => {
    const { url: target, method, headers } = request;
    const body = method === "POST" ? { body: await request.text() } : {};
    return await send(target, { method, headers, ...body });
  };
  const front = createServer(toNodeHandler(handle));
  await new Promise<void>((resolve) => {
    front.listen(0, "127.0.0.1", resolve);
  });
  return {
    origin: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    async stop() {
      front.closeAllConnections();
      front.close();
    },
  };
}
