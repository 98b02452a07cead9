import { expect, test } from "vitest";
import { sendText, startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, startLostStep, startStep } from "../../test/step.ts";

const ids = (server: { requests: readonly { headers: object }[] }) =>
  server.requests.map(({ headers }) => (headers as Record<string, unknown>)["mcp-session-id"]);

test("a session that another process has saved takes the lost one's place, and none is made", async () => {
  let asked = 0;
  const step = await startLostStep({
    async findSession() {
      asked += 1;
      return await saveSession(step.server);
    },
  });
  const { client, server, events, slot } = step;
  const calls = [1, 2, 3].map((id) => client.request("tools/call", {}, { id }));
  for (const answer of await Promise.all(calls)) expect(answer).toHaveProperty("result");
  expect(asked).toBe(1);
  expect(server.log).not.toContain("POST initialize");
  expect(ids(server).at(-1)).toBe(server.sessionIds.at(-1));
  expect(events).toMatchObject([
    { type: "resumed" },
    { type: "lost" },
    { type: "recovered", changed: false },
  ]);
  expect(slot.takeLossNotice()).toBe(true);
});

test("a session is made when the server has forgotten the one of another process, too", async () => {
  let isFound = false;
  const step = await startLostStep({
    async findSession() {
      if (isFound) return undefined;
      isFound = true;
      const found = await saveSession(step.server);
      step.server.forgetSessions();
      return found;
    },
  });
  expect(await step.client.request("tools/call", {})).toHaveProperty("result");
  const { server, events } = step;
  expect(server.log.filter((entry) => entry === "POST initialize")).toHaveLength(1);
  expect(ids(server).at(-1)).toBe(server.sessionIds.at(-1));
  expect(events.map(({ type }) => type)).toEqual([
    ...["resumed", "lost", "recovered", "lost", "recovered"],
  ]);
});

test("a server that forgets each session of other processes at once is left after two", async () => {
  let found = 0;
  const step = await startLostStep({
    async findSession() {
      found += 1;
      const saved = await saveSession(step.server);
      step.server.forgetSessions();
      return saved;
    },
  });
  await expect(step.client.request("tools/call", {})).rejects.toMatchObject({
    code: "SESSION_LOST",
  });
  expect(found).toBe(2);
});

test.each(["nothing", "the lost session", "one of another URL"])(
  "a session is made when %s is found",
  async (what) => {
    const step = await startLostStep({
      async findSession() {
        if (what === "nothing") return undefined;
        const url = what === "the lost session" ? step.snapshot.url : "https://other.test/mcp";
        return { ...step.snapshot, url };
      },
    });
    expect(await step.client.request("tools/call", {})).toHaveProperty("result");
    expect(step.server.log.filter((entry) => entry === "POST initialize")).toHaveLength(1);
  },
);

test("a session in doubt goes to the one that another process has saved, and what was opened for the proof is ended", async () => {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const found = await saveSession(server);
  server.use(({ headers }, response, next) =>
    headers["mcp-session-id"] === snapshot.sessionId ? sendText(response, 500, "Oh.") : next(),
  );
  const findSession = async () => found;
  const { client, slot } = startStep(server, { snapshot, findSession });
  await expect(client.request("tools/call")).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  expect(await client.request("tools/call")).toHaveProperty("result");
  expect(slot.snapshot).toMatchObject({ sessionId: found.sessionId });
  await slot.settle();
  const ended = server.requests.filter(
    ({ headers, method }) =>
      method === "DELETE" && headers["mcp-session-id"] === server.sessionIds[2],
  );
  expect(ended).toHaveLength(1);
});

const fails = () => Promise.reject(new Error("The store is away."));

test("is not asked for a first session, and its failure is the request's", async () => {
  const server = await startMcpServer();
  const first = startStep(server, { findSession: fails });
  expect(await first.client.request("tools/call", {})).toHaveProperty("result");
  server.forgetSessions();
  const made = server.sessionIds.length;
  await expect(first.client.request("tools/call", {})).rejects.toThrow("The store is away.");
  expect(server.sessionIds).toHaveLength(made);
});

test("standing requests are made again on a session that another process has saved first", async () => {
  const server = await startMcpServer();
  const level = { level: "debug" };
  const first = startStep(server);
  await first.client.request("logging/setLevel", level);
  server.forgetSessions();
  const other = startStep(server);
  await other.client.request("ping");
  server.requests.length = 0;
  const second = startStep(server, {
    snapshot: first.slot.snapshot!,
    onSession: () => other.slot.snapshot,
  });
  await second.client.request("ping");
  const repeated = server.requests.filter(({ message }) => message?.method === "logging/setLevel");
  expect(repeated.map(({ headers }) => headers["mcp-session-id"])).toEqual([server.sessionIds[1]]);
});

test("a client that has not said who it is goes on as the one that made the session", async () => {
  const server = await startMcpServer();
  const clientInfo = { name: "somebody's client", version: "7" };
  const first = startStep(server);
  await first.client.handshake({ clientInfo });
  expect(first.slot.snapshot).toMatchObject({ clientInfo });
  server.forgetSessions();
  server.requests.length = 0;
  const second = startStep(server, { snapshot: first.slot.snapshot! });
  await second.client.request("ping");
  const [initialize] = server.requests.filter(({ message }) => message?.method === "initialize");
  expect(initialize?.message.params).toMatchObject({ clientInfo });
  expect(second.slot.snapshot).toMatchObject({ clientInfo });
});
