/**
 * Throughput and memory of a server with 1, 100 and 10,000 live sessions, beside the official SDK's
 * own example server, in one run:
 *
 *     npm run load [-- --seconds 5 --sessions 1,100,10000 --servers "SDK example,memory store"]
 */
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import { type MeasuredServer, servers } from "./measured-server.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    sessions: { type: "string", default: "1,100,10000" },
    servers: { type: "string", default: Object.keys(servers).join() },
  },
});
/** Connections that call one after the other. */
const connections = 20;
const headers = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2025-11-25",
};

interface Measured {
  readonly callsPerSecond: number;
  readonly p99Ms: number;
  /** After the sessions were started, and after the calls. */
  readonly idleMiB: number;
  readonly loadedMiB: number;
}

for (const count of values.sessions.split(",").map(Number)) {
  console.log(`\n${count} live sessions, ${connections} connections, ${values.seconds} s each`);
  console.log(row("", "calls/s", "ratio", "p99 ms", "MiB idle", "ratio", "MiB after", "ratio"));
  let first: Measured | undefined;
  for (const name of values.servers.split(",")) {
    const server = await servers[name]!();
    try {
      const measured = await measure(server, count);
      first ??= measured;
      print(name, measured, first);
    } finally {
      await server.stop();
    }
  }
}

async function measure(server: MeasuredServer, count: number): Promise<Measured> {
  const ids = await startSessions(server.url, count);
  const idleMiB = server.residentMiB();
  let sent = 0;
  const result = await autocannon({
    url: server.url,
    connections,
    duration: Number(values.seconds),
    requests: [
      {
        method: "POST",
        setupRequest: (request) => {
          const id = ++sent;
          const params = { name: "greet", arguments: { name: "Ada" } };
          return {
            ...request,
            headers: { ...headers, "mcp-session-id": ids[id % ids.length]! },
            body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }),
          };
        },
      },
    ],
  });
  const failed = result.non2xx + result.errors + result.timeouts;
  if (failed > 0) throw new Error(`${failed} of ${sent} calls failed.`);
  return {
    callsPerSecond: result.requests.average,
    p99Ms: result.latency.p99,
    idleMiB,
    loadedMiB: server.residentMiB(),
  };
}

async function startSessions(url: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  let started = 0;
  const startSome = async () => {
    while (started < count) {
      started += 1;
      ids.push(await startSession(url));
    }
  };
  await Promise.all(Array.from({ length: 10 }, startSome));
  return ids;
}

async function startSession(url: string): Promise<string> {
  const send = async (body: object, more: Record<string, string> = {}) => {
    const text = JSON.stringify({ jsonrpc: "2.0", ...body });
    const response = await fetch(url, {
      method: "POST",
      headers: { ...headers, ...more },
      body: text,
    });
    await response.text();
    if (!response.ok) throw new Error(`${response.status} to ${text}`);
    return response;
  };
  const clientInfo = { name: "load", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const answer = await send({ id: 0, method: "initialize", params });
  const id = answer.headers.get("mcp-session-id")!;
  await send({ method: "notifications/initialized" }, { "mcp-session-id": id });
  return id;
}

function print(name: string, measured: Measured, first: Measured): void {
  const { callsPerSecond, p99Ms, idleMiB, loadedMiB } = measured;
  console.log(
    row(
      name,
      callsPerSecond.toFixed(0),
      ratio(callsPerSecond, first.callsPerSecond),
      p99Ms.toFixed(0),
      idleMiB.toFixed(0),
      ratio(idleMiB, first.idleMiB),
      loadedMiB.toFixed(0),
      ratio(loadedMiB, first.loadedMiB),
    ),
  );
}

function ratio(value: number, to: number): string {
  return (value / to).toFixed(2);
}

function row(name: string, ...cells: string[]): string {
  return [name.padEnd(14), ...cells.map((cell) => cell.padStart(10))].join("");
}
