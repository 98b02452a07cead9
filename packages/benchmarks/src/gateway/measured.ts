import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { Agent, type IncomingMessage, request as sendRequest } from "node:http";
import { fileURLToPath } from "node:url";

/** A gateway in a process of its own, and what its rounds showed. */
export interface Measured {
  readonly child: ChildProcess;
  readonly port: number;
  readonly callers: { readonly session: string; id: number }[];
  readonly callsPerSecond: number[];
  readonly cpuMs: number[];
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Answers "memory" after it has collected garbage. */
const collecting = `data:text/javascript,process.on("message", (message) => {
  if (message !== "memory") return;
  gc();
  const { heapUsed, external } = process.memoryUsage();
  process.send(heapUsed + external);
});`.replaceAll("\n", "");

/** Starts a program that says its port. */
export async function startMeasured(program: string, ...args: string[]): Promise<Measured> {
  const execArgv = ["--disable-warning=ExperimentalWarning", "--expose-gc", "--import", collecting];
  const file = fileURLToPath(new URL(program, import.meta.url));
  // mcp-proxy tells of each stream.
  const child = fork(file, args, { execArgv, stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`${program} ended with ${code} before it listened.`);
  });
  ended.catch(() => undefined);
  const [port] = (await Promise.race([once(child, "message"), ended])) as [number];
  return { child, port, callers: [], callsPerSecond: [], cpuMs: [] };
}

export async function stopMeasured({ child }: Measured): Promise<void> {
  const ended = once(child, "exit");
  child.disconnect();
  await ended;
}

const accept = "application/json, text/event-stream";

async function send(
  port: number,
  method: "GET" | "POST",
  session: string | undefined,
  body?: object,
): Promise<IncomingMessage> {
  const headers = {
    ...(body && { "content-type": "application/json" }),
    ...{ accept, "mcp-protocol-version": "2025-11-25" },
    ...(session !== undefined && { "mcp-session-id": session }),
  };
  // A stream has a connection of its own.
  const own = method === "POST" ? agent : false;
  const sent = sendRequest({ host: "127.0.0.1", port, path: "/mcp", method, headers, agent: own });
  sent.end(body && JSON.stringify({ jsonrpc: "2.0", ...body }));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response;
}

async function post(port: number, message: object, session?: string) {
  const response = await send(port, "POST", session, message);
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
  return { text, session: response.headers["mcp-session-id"] };
}

/** Begins a session. @returns its id */
async function begin(port: number): Promise<string> {
  const clientInfo = { name: "bench", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const { session, text } = await post(port, { id: 0, method: "initialize", params });
  if (typeof session !== "string") throw new Error(`The gateway gave no session: ${text}`);
  await post(port, { method: "notifications/initialized" }, session);
  return session;
}

const params = { name: "count", arguments: {} };

/** Has callers, with a session each, make calls. */
export async function callMany(measured: Measured, callers: number, calls: number): Promise<void> {
  while (measured.callers.length < callers)
    measured.callers.push({ session: await begin(measured.port), id: 1 });
  const state = { left: calls };
  const work = measured.callers.map(async (caller) => {
    while (state.left > 0) {
      state.left -= 1;
      const call = { id: caller.id, method: "tools/call", params };
      caller.id += 1;
      const { text } = await post(measured.port, call, caller.session);
      if (!text.includes("count ")) throw new Error(`A call was not answered: ${text}`);
    }
  });
  await Promise.all(work);
}

export async function measureRound(measured: Measured, callers: number, calls: number) {
  const cpu = cpuMsOf(measured.child.pid!);
  const begun = performance.now();
  await callMany(measured, callers, calls);
  measured.callsPerSecond.push((calls / (performance.now() - begun)) * 1_000);
  measured.cpuMs.push((cpuMsOf(measured.child.pid!) - cpu) / calls);
}

const childrenOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8")
      .trim()
      .split(" ")
      .filter(Boolean)
      .map(Number),
  );

/** What a process and those below it have of the memory, in kilobytes: what several have is divided among them. */
export function treeMemoryKb(pid: number): number {
  const own = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1];
  return childrenOf(pid).reduce((sum, each) => sum + treeMemoryKb(each), Number(own));
}

/** What a process and those below it have used so far, in milliseconds: Linux counts hundredths of a second. */
function cpuMsOf(pid: number): number {
  const [, rest = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const fields = rest.split(" ");
  const own = (Number(fields[11]) + Number(fields[12])) * 10;
  return childrenOf(pid).reduce((sum, each) => sum + cpuMsOf(each), own);
}

/** What lives in a process after its garbage has been collected, in the heap and beside it, in kilobytes. */
async function kilobytesOf({ child }: Measured): Promise<number> {
  // Connections that were just closed, and finalizers.
  await new Promise((resolve) => setTimeout(resolve, 300));
  child.send("memory");
  const [bytes] = (await once(child, "message")) as [number];
  return bytes / 1_000;
}

/** Kilobytes of a session with one call, and of an open GET. */
export async function measureMemory(measured: Measured, sessions: number, streams: number) {
  const { port } = measured;
  const ids: string[] = [];
  const beginSome = async (count: number) => {
    for (let left = count; left > 0; left -= 1) {
      const session = await begin(port);
      await post(port, { id: 1, method: "tools/call", params }, session);
      ids.push(session);
    }
  };
  await beginSome(20);
  const before = await kilobytesOf(measured);
  await beginSome(sessions);
  const between = await kilobytesOf(measured);
  const open: IncomingMessage[] = [];
  for (const session of ids.slice(0, streams)) {
    const stream = await send(port, "GET", session);
    if (stream.statusCode !== 200) throw new Error(`A GET was answered ${stream.statusCode}.`);
    open.push(stream);
  }
  const after = await kilobytesOf(measured);
  for (const stream of open) stream.destroy();
  return { session: (between - before) / sessions, stream: (after - between) / streams };
}
