import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { InitializeRequestSchema, SetLevelRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import { createNotesServer, type Notes } from "../../test/notes-server.ts";
import { createReplicas } from "../../test/replicas.ts";
import type { CreateServer } from "../index.ts";

const forever = new Promise<never>(() => {});
const timeouts = { serverMs: 60 };
type Context = Parameters<CreateServer<Notes>>[0];

/** A replica whose servers hang until the test repairs them, with a session that another one began. */
async function restoredBy(hang: (context: Context) => ReturnType<CreateServer<Notes>>) {
  const replicas = createReplicas({ timeouts });
  const id = await replicas.start().client.initialize();
  const state = { isBroken: true };
  const { client, handler } = replicas.start({
    createServer: (context) =>
      state.isBroken ? hang(context) : createNotesServer(context.session),
  });
  return { ...replicas, id, client, handler, state };
}

test.each([
  ["createServer", () => forever],
  [
    "connect",
    ({ session }: Context) => Object.assign(createNotesServer(session), { connect: () => forever }),
  ],
  [
    "initialize",
    () => {
      const server = new Server({ name: "a", version: "1" }, { capabilities: {} });
      server.setRequestHandler(InitializeRequestSchema, () => forever);
      return server;
    },
  ],
])("a server whose %s never ends fails its request, and takes no room", async (_part, hang) => {
  const { client, handler, events, state, id } = await restoredBy(hang);
  expect(await client.call(id, "list")).toMatchObject({ status: 500 });
  expect(events.map(({ type }) => type)).toContain("restore-failed");
  expect(handler.liveSessions).toBe(0);
  state.isBroken = false;
  expect(await client.call(id, "list")).toMatchObject({ text: "" });
});

test("a server that is built too late is closed, with what it has opened", async () => {
  const { promise: answered, resolve: goOn } = Promise.withResolvers<void>();
  const { lines, id, client } = await restoredBy(async ({ session, onClose }) => {
    onClose(() => void lines.push("early resource closed"));
    await answered;
    onClose(() => void lines.push("late resource closed"));
    return createNotesServer(session, { lines });
  });
  await client.call(id, "list");
  expect(lines).toContain("early resource closed");
  goOn();
  await expect.poll(() => lines.slice(-2).toSorted()).toEqual(["closed", "late resource closed"]);
});

test("a server whose close never ends holds up neither a drain nor the end of a session", async () => {
  const replicas = createReplicas({
    timeouts,
    createServer: ({ session, onClose }) => {
      onClose(() => forever);
      return createNotesServer(session);
    },
  });
  const { client, handler } = replicas.start();
  const [ended] = [await client.initialize(), await client.initialize()];
  expect((await client.end(ended)).status).toBe(200);
  await handler.drain();
  const failures = replicas.events.filter(({ type }) => type === "failed");
  expect(failures).toHaveLength(2);
});

test("a server that hangs when it is told the log level again fails one request, not the session", async () => {
  const replicas = createReplicas({ timeouts });
  const first = replicas.start();
  const id = await first.client.initialize();
  await first.client.post(id, { id: 1, method: "logging/setLevel", params: { level: "error" } });
  const { client } = replicas.start({
    // As an author's handler that waits for something.
    setUp: (mcp) => mcp.server.setRequestHandler(SetLevelRequestSchema, () => forever),
  });
  await expect.poll(async () => (await client.call(id, "list")).text).toBe("");
});
