import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, request as sendRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BenchOptions, BenchPart } from "../report/part.ts";
import { medianRatio } from "../report/ratio.ts";

const callers = 8;
const callsPerRound = 800;
const warmUpCalls = 4_000;
const measuredSessions = 900;

/** A gateway in a process of its own, and what its rounds showed. */
interface Measured {
  readonly child: ChildProcess;
  readonly port: number;
  readonly callers: { readonly session: string; id: number }[];
  readonly callsPerSecond: number[];
  readonly cpuMs: number[];
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** What a call through a gateway costs, before one server: ours, mcp-proxy's library, and one that passes bytes on. */
export async function measureGateway({ rounds = 20 }: BenchOptions): Promise<BenchPart> {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-bench-"));
  const children: ChildProcess[] = [];
  const start = async (program: string, ...args: string[]) => {
    const execArgv = ["--disable-warning=ExperimentalWarning"];
    const child = fork(fileURLToPath(new URL(program, import.meta.url)), args, { execArgv });
    children.push(child);
    const [port] = (await once(child, "message")) as [number];
    return { child, port, callers: [], callsPerSecond: [], cpuMs: [] } as Measured;
  };
  try {
    const upstream = await start("upstream-program.ts");
    const target = `http://127.0.0.1:${upstream.port}/mcp`;
    const kinds = {
      gateway: await start("gateway-program.ts", target, `file:${join(folder, "gateway.db")}`),
      "mcp-proxy": await start("mcp-proxy-program.ts", target),
      "bytes passed on": await start("bare-program.ts", target),
    };
    for (const each of Object.values(kinds)) {
      for (let count = 0; count < callers; count += 1)
        each.callers.push({ session: await begin(each.port), id: 1 });
      await callMany(each, warmUpCalls);
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const each of Object.values(kinds)) await measureRound(each);
    }
    const { gateway, "mcp-proxy": proxy } = kinds;
    const memory = {
      gateway: await kilobytesPerSession(gateway),
      "mcp-proxy": await kilobytesPerSession(proxy),
    };
    return {
      id: "gateway",
      title: "The gateway beside mcp-proxy, before one server",
      ratios: [
        {
          label: "calls a second, of mcp-proxy's",
          ...medianRatio(gateway.callsPerSecond, proxy.callsPerSecond),
          target: { atLeast: 1.2 },
        },
        {
          label: "CPU a call, of mcp-proxy's",
          ...medianRatio(gateway.cpuMs, proxy.cpuMs),
          target: { atMost: 0.85 },
        },
      ],
      counts: [
        {
          label: "memory a session",
          value: Math.round(memory.gateway),
          unit: "KB",
          target: { atMost: 13 },
        },
      ],
      tables: [
        {
          title: "Medians of the rounds",
          columns: ["through", "calls a second", "CPU ms a call"],
          rows: Object.entries(kinds).map(([name, { callsPerSecond, cpuMs }]) => [
            name,
            Math.round(median(callsPerSecond)),
            median(cpuMs).toFixed(2),
          ]),
        },
      ],
      notes: [
        `${callers} callers, a session each, ${callsPerRound} calls a round, rounds in turn, all warm; the gateway over SQLite. mcp-proxy's memory a session: ${Math.round(memory["mcp-proxy"])} KB.`,
      ],
    };
  } finally {
    for (const child of children) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;

async function post(port: number, message: object, session?: string) {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...(session !== undefined && { "mcp-session-id": session }),
  };
  const options = { host: "127.0.0.1", port, path: "/mcp", method: "POST", headers, agent };
  const sent = sendRequest(options);
  sent.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
  return { text, session: response.headers["mcp-session-id"] };
}

async function begin(port: number): Promise<string> {
  const clientInfo = { name: "bench", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const { session, text } = await post(port, { id: 0, method: "initialize", params });
  if (typeof session !== "string") throw new Error(`The gateway gave no session: ${text}`);
  await post(port, { method: "notifications/initialized" }, session);
  return session;
}

async function callMany(measured: Measured, calls: number): Promise<void> {
  const state = { left: calls };
  const params = { name: "count", arguments: {} };
  const work = measured.callers.map(async (caller) => {
    while (state.left > 0) {
      state.left -= 1;
      const call = { id: caller.id, method: "tools/call", params };
      caller.id += 1;
      const { text } = await post(measured.port, call, caller.session);
      if (!text.includes("count ")) throw new Error("A call was not answered.");
    }
  });
  await Promise.all(work);
}

async function measureRound(measured: Measured): Promise<void> {
  const cpu = cpuMsOf(measured.child);
  const begun = performance.now();
  await callMany(measured, callsPerRound);
  measured.callsPerSecond.push((callsPerRound / (performance.now() - begun)) * 1_000);
  measured.cpuMs.push((cpuMsOf(measured.child) - cpu) / callsPerRound);
}

/** What the process has used so far, in milliseconds: Linux counts hundredths of a second. */
function cpuMsOf({ pid }: ChildProcess): number {
  const [, rest = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const fields = rest.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function kilobytesPerSession(measured: Measured): Promise<number> {
  const before = residentOf(measured.child);
  for (let count = 0; count < measuredSessions; count += 1) {
    const session = await begin(measured.port);
    const params = { name: "count", arguments: {} };
    await post(measured.port, { id: 1, method: "tools/call", params }, session);
  }
  return (residentOf(measured.child) - before) / measuredSessions;
}

function residentOf({ pid }: ChildProcess): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}
