import { expect, test } from "vitest";
import { createNotesServer } from "../../test/notes-server.ts";
import { createReplicas } from "../../test/replicas.ts";
import type { CreateServer } from "../index.ts";
import type { Notes } from "../../test/notes-server.ts";

type Context = Parameters<CreateServer<Notes>>[0];

/** Replicas whose servers open something, and close it. */
function startWithResources(build = ({ session }: Context) => createNotesServer(session)) {
  const open = { opened: 0, closed: 0 };
  const replicas = createReplicas({
    createServer: (context) => {
      open.opened += 1;
      context.onClose(async () => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        open.closed += 1;
      });
      return build(context);
    },
    limits: { liveSessions: 1 },
  });
  return { ...replicas, open };
}

test("what a server opened is closed once, however its session leaves the process", async () => {
  const { start, open } = startWithResources();
  const [one, two] = [start(), start()];
  // To make room.
  const first = await one.client.initialize();
  const second = await one.client.initialize();
  await expect.poll(() => open).toEqual({ opened: 2, closed: 1 });
  // DELETE here, which waits for it.
  await one.client.end(second);
  expect(open).toEqual({ opened: 2, closed: 2 });
  // DELETE elsewhere; the next request notices.
  await one.client.call(first, "list");
  await two.client.end(first);
  await one.client.call(first, "list");
  expect(open).toEqual({ opened: 3, closed: 3 });
  // Drain.
  await one.client.initialize();
  await one.handler.drain();
  await one.handler.drain();
  expect(open).toEqual({ opened: 4, closed: 4 });
});

test("what a server opened is closed when it is not built, not connected, or not restored", async () => {
  const notBuilt = startWithResources(() => {
    throw new Error("not built");
  });
  await expect(notBuilt.start().client.initialize()).rejects.toThrow("500");
  expect(notBuilt.open).toEqual({ opened: 1, closed: 1 });

  const notConnected = startWithResources(({ session }) =>
    Object.assign(createNotesServer(session), {
      connect: () => Promise.reject(new Error("not connected")),
    }),
  );
  await expect(notConnected.start().client.initialize()).rejects.toThrow("500");
  expect(notConnected.open).toEqual({ opened: 1, closed: 1 });

  const notRestored = startWithResources();
  const id = await notRestored.start().client.initialize();
  const { client } = notRestored.start({
    createServer: ({ session, onClose }) => {
      onClose(() => void (notRestored.open.closed += 10));
      const mcp = createNotesServer(session);
      mcp.server.setRequestHandler = () => {};
      Object.assign(mcp.server, { _oninitialize: () => Promise.reject(new Error("no")) });
      return mcp;
    },
  });
  expect((await client.call(id, "list")).status).not.toBe(200);
  expect(notRestored.open).toEqual({ opened: 1, closed: 10 });
});

test("a callback that throws is an event, and stops no other", async () => {
  const lines: string[] = [];
  const replicas = createReplicas({
    createServer: ({ session, onClose }) => {
      onClose(() => {
        throw new Error("first");
      });
      onClose(() => Promise.reject(new Error("second")));
      onClose(() => void lines.push("third"));
      return createNotesServer(session);
    },
  });
  const { client } = replicas.start();
  const response = await client.end(await client.initialize());
  expect(response.status).toBe(200);
  expect(lines).toEqual(["third"]);
  const failures = replicas.events.flatMap((event) => (event.type === "failed" ? [event] : []));
  expect(failures.map(({ error }) => (error as Error).message)).toEqual(["first", "second"]);
});

test("a server that its author's code closes is built again for the next request", async () => {
  const servers: ReturnType<typeof createNotesServer>[] = [];
  const { start, open } = startWithResources(({ session }) => {
    const mcp = createNotesServer(session);
    servers.push(mcp);
    return mcp;
  });
  const { client } = start();
  const id = await client.initialize();
  await client.call(id, "add", { text: "a" });
  await servers[0]!.close();
  await expect.poll(() => open.closed).toBe(1);
  expect(await client.call(id, "list")).toMatchObject({ text: "a" });
  expect(servers).toHaveLength(2);
});
