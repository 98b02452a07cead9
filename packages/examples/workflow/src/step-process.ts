/**
 * One step, in a process of its own: takes the engine's request from stdin and answers on stdout.
 *
 *     node step-process.ts <folder or postgres://…>
 */
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { setWorld } from "workflow/runtime";
import { bundles } from "./bundle-paths.ts";
import { openWorld } from "./open-world.ts";

// What anything here prints is no part of the answer.
console.log = console.error;
const host = process.env["WORKFLOW_LOCAL_BASE_URL"]!;
const world = await openWorld(process.argv[2] ?? "");

/** The queue is the host's: this process is gone before it could deliver. */
const queue: typeof world.queue = async (...message) => {
  const response = await fetch(`${host}/enqueue`, {
    method: "POST",
    body: JSON.stringify(message),
  });
  return (await response.json()) as Awaited<ReturnType<typeof world.queue>>;
};
setWorld({ ...world, queue });

/** What the engine still writes after it has answered, it hands to the platform in this way. */
const unfinished: Promise<unknown>[] = [];
const waitUntil = (promise: Promise<unknown>) => void unfinished.push(promise);
Object.assign(globalThis, {
  [Symbol.for("@vercel/request-context")]: { get: () => ({ waitUntil }) },
});

const { headers, body } = JSON.parse(await text(process.stdin)) as {
  headers: Record<string, string>;
  body: string;
};
const { POST } = (await import(pathToFileURL(bundles.step).href)) as {
  POST: (request: Request) => Promise<Response>;
};
const response = await POST(new Request(host, { method: "POST", headers, body }));
process.stdout.write(JSON.stringify({ status: response.status, body: await response.text() }));
await Promise.all(unfinished);
await world.close?.();
