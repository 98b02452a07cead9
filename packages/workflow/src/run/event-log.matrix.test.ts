import { expect, test } from "vitest";
import { eventLogText } from "../../test/event-log.ts";
import { add, list, startNotes, useTestApp } from "../../test/test-app.ts";

const app = useTestApp();
const token = "token-of-the-connection";
const auth = { getToken: () => ({ token }) };

/** What a run with a lost session wrote, and the ids of its sessions. */
async function runAndRead(isStored: boolean) {
  const server = await startNotes("stateful", { auth });
  const chat = { isStored, sessionId: `log ${isStored}` };
  const { state } = await app.scripted({ ...chat, turns: [[add("a note for the log")], [list]] });
  server.forgetSessions();
  await app.scripted({ ...chat, state, turns: [[list]] });
  expect(server.requests.every(({ headers }) => headers.authorization === `Bearer ${token}`)).toBe(
    true,
  );
  return { ids: server.sessionIds, log: eventLogText(app.world.dataDir) };
}

for (const isStored of [false, true]) {
  test(`no session id and no token is in the event log, ${isStored ? "with a store" : "sealed"}`, async () => {
    const { ids, log } = await runAndRead(isStored);
    // That they would be seen: what is there in the clear, is.
    expect(log).toContain("a note for the log");
    expect(ids).toHaveLength(2);
    for (const id of ids) expect(log).not.toContain(id);
    expect(log).not.toContain(token);
  });
}

test("with a store there is nothing of the sessions in the log, otherwise they are in it sealed", async () => {
  await startNotes();
  const sealedText = /eyJhbGciOiJkaXIi[\w.-]{200,}/;
  expect(await logOf(true)).not.toMatch(sealedText);
  expect(await logOf(false)).toMatch(sealedText);
});

async function logOf(isStored: boolean): Promise<string> {
  const run = await app.beginScripted({ isStored, sessionId: "whole", turns: [[list]] });
  await run.returnValue;
  const events = await app.world.world.events.list({ runId: run.runId });
  return Buffer.concat(events.data.flatMap(bytesIn)).toString("utf8");
}

function bytesIn(value: unknown): Uint8Array[] {
  if (value instanceof Uint8Array) return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(bytesIn) : [];
}

test("a call logs its input and its result, and neither the tools nor the conversation", async () => {
  await startNotes();
  const run = await app.beginScripted({ turns: [[add("milk")]] });
  await run.returnValue;
  const { data } = await app.world.world.events.list({ runId: run.runId });
  const ofCall = data.filter((event) => JSON.stringify(event).includes("mcpCall"));
  const log = Buffer.concat(ofCall.flatMap(bytesIn)).toString("utf8");
  expect(log).toContain("milk");
  expect(log).not.toContain("Adds a note.");
  expect(log.length).toBeLessThan(2_500);
});
