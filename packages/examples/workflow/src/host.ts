/**
 * The host of the engine: takes its jobs over HTTP, replays workflows itself, and gives each step to a
 * process of its own. Killed and started again, it goes on with the runs that it finds.
 *
 *     node host.ts <folder or postgres://…> <port>
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { getRun, start } from "workflow/api";
import { setWorld } from "workflow/runtime";
import { bundles } from "./bundle-paths.ts";
import { openWorld } from "./open-world.ts";

const [place = "", port = ""] = process.argv.slice(2);
process.env["WORKFLOW_LOCAL_BASE_URL"] = `http://127.0.0.1:${port}`;
const world = await openWorld(place);
setWorld(world);
const { POST } = (await import(pathToFileURL(bundles.flow).href)) as {
  POST: (request: Request) => Promise<Response>;
};

type Route = (request: IncomingMessage, body: string) => Promise<{ status: number; body: string }>;

const routes: Record<string, Route> = {
  "/.well-known/workflow/v1/flow": async ({ headers }, body) => {
    const url = `http://127.0.0.1:${port}/`;
    const request = new Request(url, { method: "POST", headers: headers as HeadersInit, body });
    const response = await POST(request);
    return { status: response.status, body: await response.text() };
  },
  "/.well-known/workflow/v1/step": async ({ headers }, body) => await runStep(headers, body),
  // What a step's process has for the queue.
  "/enqueue": async (_, body) => {
    const [name, message, options] = JSON.parse(body) as Parameters<typeof world.queue>;
    return { status: 200, body: JSON.stringify(await world.queue(name, message, options)) };
  },
  "/start": async (_, body) => {
    const { workflowId, options } = JSON.parse(body) as { workflowId: string; options: unknown };
    const { runId } = await start({ workflowId }, [options]);
    return { status: 200, body: JSON.stringify({ runId }) };
  },
  "/result": async (_, body) => {
    const { runId } = JSON.parse(body) as { runId: string };
    return { status: 200, body: JSON.stringify(await getRun(runId).returnValue) };
  },
};

/** @returns the answer of the step's process, which has ended */
async function runStep(headers: object, body: string) {
  const program = fileURLToPath(new URL("step-process.ts", import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, program, place], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.end(JSON.stringify({ headers, body }));
  const [output, [exitCode]] = await Promise.all([text(child.stdout), once(child, "close")]);
  if (exitCode !== 0) return { status: 500, body: `The step's process ended with ${exitCode}.` };
  const queue = (headers as Record<string, string>)["x-vqs-queue-name"] ?? "";
  console.log(JSON.stringify({ pid: child.pid, step: queue.split("//").at(-1) }));
  return JSON.parse(output) as { status: number; body: string };
}

const server = createServer((request, response) => void answer(request, response));
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const route = routes[request.url ?? ""];
    const { status, body } = route
      ? await route(request, await text(request))
      : { status: 404, body: "" };
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}
// The engine keeps its connections for 30 seconds; closed under its hands, a job would have to be repeated.
server.keepAliveTimeout = 60_000;
server.listen(Number(port), "127.0.0.1");
await once(server, "listening");
await world.start?.();
console.log(JSON.stringify({ ready: process.pid }));
