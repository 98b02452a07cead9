/**
 * One step in a process of its own, which says that it is at the point it was told and goes no
 * further, so that it can be killed there.
 */
import type { SessionStore } from "@durable-mcp/core";
import type { KillPoint } from "./kill-points.ts";
import type { KilledStepReport, KilledStepTask } from "./killed-step-protocol.ts";
import { callNotebook, createNotebookSessions, principal } from "./notebook-sessions.ts";
import { openStoreAt } from "./store-place.ts";

const report = (type: KilledStepReport["type"]) => void process.send!({ type });

const { promise: told, resolve } = Promise.withResolvers<KilledStepTask>();
process.once("message", resolve);
report("ready");
const { place, url, sessionId, point, note } = await told;

/** For ever, once the step is there. */
async function at(here: KillPoint): Promise<void> {
  if (here !== point) return;
  report("reached");
  // Something has to keep a process that only waits.
  setInterval(() => {}, 60_000);
  await new Promise(() => {});
}

const { store } = await openStoreAt(place);
const stopping: SessionStore = {
  ...store,
  async get(key) {
    await at("before load");
    const value = await store.get(key);
    await at("loaded");
    return value;
  },
  async put(...args) {
    await at("before save");
    const saving = store.put(...args);
    // It is on its way, and perhaps there.
    await at("during save");
    const result = await saving;
    await at("saved");
    return result;
  },
};

const fetchStopping: typeof fetch = async (input, init) => {
  const body = typeof init?.body === "string" ? init.body : "";
  const response = await fetch(input, init);
  if (body.includes('"method":"initialize"')) await at("id received");
  const isHalfRead = point === "answer half read" && body.includes('"method":"tools/call"');
  return isHalfRead && response.body ? new Response(firstHalf(response.body), response) : response;
};

function firstHalf(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  return body.pipeThrough(
    new TransformStream({
      async transform(chunk, controller) {
        controller.enqueue(chunk.slice(0, Math.ceil(chunk.length / 2)));
        await at("answer half read");
      },
    }),
  );
}

const { sessions } = createNotebookSessions({ url, store: stopping, fetch: fetchStopping });
if (point === "during end") await sessions.end(sessionId, { principal });
else {
  await sessions.run(sessionId, { principal }, ({ tools }) =>
    callNotebook(tools, "add_note", { text: note }),
  );
}
