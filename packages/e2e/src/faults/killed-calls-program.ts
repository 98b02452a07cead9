/** A process that works in several agent sessions at once, call after call, until it is killed. */
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { callNotebook, principal } from "../durable/notebook-sessions.ts";
import { openStoreAt } from "../durable/store-place.ts";
import type { KilledCallsReport, KilledCallsTask } from "./killed-calls-protocol.ts";

const report = (message: KilledCallsReport) => void process.send!(message);

const nextTask = () =>
  new Promise<KilledCallsTask>((resolve) => void process.once("message", resolve));

const opening = await nextTask();
if (opening.type !== "open") throw new Error("The first task has to be open.");
const { store } = await openStoreAt(opening.place);
const working = nextTask();
report({ type: "ready" });
const task = await working;
if (task.type !== "work") throw new Error("The second task has to be work.");
const { url, sessionIds } = task;
await Promise.all(sessionIds.map(work));

async function work(sessionId: string): Promise<void> {
  const sessions = createDurableSessions({
    connections: {
      notes: defineMcpClientConnection({ url, description: "A notebook.", session: "stateful" }),
    },
    store,
    onEvent: { every: ({ type }) => report({ type: "event", sessionId, event: type }) },
  });
  for (let number = 0; ; number += 1) {
    // Steps of three calls each.
    await sessions.run(sessionId, { principal }, async ({ tools }) => {
      for (const part of ["a", "b", "c"]) {
        const text = `<${sessionId} killed ${number}${part}>`;
        report({ type: "calling", sessionId, text });
        const answer = await callNotebook(tools, "add_note", { text });
        report({ type: "answered", sessionId, text, answer });
      }
    });
  }
}
