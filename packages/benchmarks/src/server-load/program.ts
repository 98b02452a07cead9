/**
 * Throughput and memory of a server with 1, 100 and 10,000 live sessions, beside the official SDK's
 * own example server, in one run:
 *
 *     npm run load [-- --rounds 5 --seconds 2 --sessions 1,100,10000 --servers "SDK example,memory store"]
 */
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import { type MeasuredServer, servers } from "./measured-server.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "5" },
    sessions: { type: "string", default: "1,100,10000" },
    servers: { type: "string", default: Object.keys(servers).join() },
  },
});
let sent = 0;
/** Connections that call one after the other. */
const connections = 20;
const headers = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2025-11-25",
};

interface Measured {
  readonly server: MeasuredServer;
  readonly ids: string[];
  /** After the sessions were started. */
  readonly idleMiB: number;
  /** Of each round. */
  readonly callsPerSecond: number[];
  readonly p99Ms: number[];
}

for (const count of values.sessions.split(",").map(Number)) {
  const { rounds, seconds } = values;
  console.log(
    `\n${count} live sessions, ${connections} connections, ${rounds} rounds of ${seconds} s`,
  );
  console.log(row("", "calls/s", "ratio", "p99 ms", "MiB idle", "ratio", "MiB after", "ratio"));
  const measured = new Map<string, Measured>();
  try {
    for (const name of values.servers.split(",")) {
      const server = await servers[name]!();
      const ids = await startSessions(server.url, count);
      const idleMiB = server.residentMiB();
      measured.set(name, { server, ids, idleMiB, callsPerSecond: [], p99Ms: [] });
    }
    // In turn, round after round: other load on the machine comes and goes, and then hits all.
    for (let round = 0; round < Number(rounds); round++) {
      for (const one of measured.values()) await runRound(one);
    }
    const [first] = measured.values();
    for (const [name, one] of measured) print(name, one, first!);
  } finally {
    for (const { server } of measured.values()) await server.stop();
  }
}

async function runRound({ server, ids, callsPerSecond, p99Ms }: Measured): Promise<void> {
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
  if (failed > 0) throw new Error(`${failed} calls failed.`);
  callsPerSecond.push(result.requests.average);
  p99Ms.push(result.latency.p99);
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

/** Ratios of speed are medians over the rounds, of both in the same round. */
function print(name: string, measured: Measured, first: Measured): void {
  const { server, callsPerSecond, p99Ms, idleMiB } = measured;
  const ratios = callsPerSecond.map((speed, round) => speed / first.callsPerSecond[round]!);
  const loadedMiB = server.residentMiB();
  console.log(
    row(
      name,
      median(callsPerSecond).toFixed(0),
      median(ratios).toFixed(2),
      median(p99Ms).toFixed(0),
      idleMiB.toFixed(0),
      ratio(idleMiB, first.idleMiB),
      loadedMiB.toFixed(0),
      ratio(loadedMiB, first.server.residentMiB()),
    ),
  );
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
}

function ratio(value: number, to: number): string {
  return (value / to).toFixed(2);
}

function row(name: string, ...cells: string[]): string {
  return [name.padEnd(14), ...cells.map((cell) => cell.padStart(10))].join("");
}
