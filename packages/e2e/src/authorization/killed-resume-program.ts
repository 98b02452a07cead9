/** One process that goes on after a sign-in with a call that has waited for it, and can be killed at each of its points. */
import { receiveTask, stopAtFetch, stopAtStore } from "../durable/killed-process.ts";
import { openStoreAt } from "../durable/store-place.ts";
import { createNotesApplication } from "./notes-application.ts";
import { createNotesSessions, resumeNote } from "./parked-note.ts";
import { isRefused, type KilledResumeTask, type ResumeKillPoint } from "./resume-kill-points.ts";

const { task, at } = await receiveTask<ResumeKillPoint, KilledResumeTask>();
const { place, point, use } = task;
const work = isRefused(point) ? "refused" : "resume";

const { store } = await openStoreAt(place);
const application = createNotesApplication(use, { store });
const stopping = stopAtStore(store, (when, operation, number) =>
  at(`${work}: ${when} ${operation} ${number}`),
);
const sessions = createNotesSessions(use, {
  application,
  store: {
    ...store,
    // The MCP session's record is marked as used now and then.
    put: (...args) => (args[0].includes("waiting/") ? stopping : store).put(...args),
  },
  fetch: stopAtFetch(
    ({ body }) => body.includes('"method":"tools/call"'),
    (when) => at(`${work}: ${when === "sent" ? "call sent" : "answer received"}`),
  ),
});
const { sessionId, id } = task;
await resumeNote(sessions, { sessionId, id, principal: application.principal });
