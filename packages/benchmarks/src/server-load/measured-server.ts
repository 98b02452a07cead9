import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";

/** A server in a process of its own. */
export interface MeasuredServer {
  readonly url: string;
  /** Memory that the process has, in MiB. */
  readonly residentMiB: () => number;
  readonly stop: () => Promise<void>;
}

const source = "--conditions=@durable-mcp/source";
const greeting = fileURLToPath(new URL("./greeting-server.ts", import.meta.url));
const example = fileURLToPath(
  new URL(
    "../../node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js",
    import.meta.url,
  ),
);

const raiseLimit = new URL("./raise-session-limit.ts", import.meta.url).href;

/** What is measured: how each is started. The first is what the others are compared with. */
export const servers: Record<string, () => Promise<MeasuredServer>> = {
  "SDK example": () => start(() => ["--import", raiseLimit, example], true),
  "memory store": () => start((port) => [source, greeting, port, "memory"]),
  "memory as JSON": () => start((port) => [source, greeting, port, "memory", "json"]),
  "SQLite normal": () => start((port) => [source, greeting, port, "sqlite-normal"]),
  "SQLite full": () => start((port) => [source, greeting, port, "sqlite"]),
};

async function start(
  args: (port: string) => string[],
  isPortInEnvironment = false,
): Promise<MeasuredServer> {
  const port = String(await freePort());
  const env = { ...process.env, ...(isPortInEnvironment && { MCP_PORT: port }) };
  const child = spawn(process.execPath, args(port), {
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const url = `http://127.0.0.1:${port}/mcp`;
  await untilItAnswers(url, child);
  return {
    url,
    residentMiB: () => {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
    },
    stop: async () => {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

async function untilItAnswers(url: string, child: ChildProcess): Promise<void> {
  for (const deadline = Date.now() + 20_000; ;) {
    if (child.exitCode !== null) throw new Error("The server ended while starting.");
    try {
      await (await fetch(url)).body?.cancel();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}
