/** One step in a process of its own, which can be killed at each of its points. */
import type { KilledStepTask, KillPoint } from "./kill-points.ts";
import { receiveTask, stopAtStore } from "./killed-process.ts";
import { callNotebook, createNotebookSessions, principal } from "./notebook-sessions.ts";
import { openStoreAt } from "./store-place.ts";

const { task, at: atPoint } = await receiveTask<KillPoint, KilledStepTask>();
const { place, url, sessionId, point, note } = task;
const at = (here: KillPoint) => atPoint(here);

const storePoints: Readonly<Record<string, KillPoint>> = {
  "before get": "before load",
  "after get": "loaded",
  "before put": "before save",
  "during put": "during save",
  "after put": "saved",
};

const { store } = await openStoreAt(place);
const stopping = stopAtStore(store, async (when, operation) => {
  const here = storePoints[`${when} ${operation}`];
  if (here !== undefined) await at(here);
});

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
