/** Whether a run found a live client, in runs without a pool. */
import { expect, test } from "vitest";
import { backends, startNotebooks } from "../agent-session.ts";
import type { ClientEvent } from "../collect-events.ts";
import { sendText } from "../../../core/test/http-server.ts";
import { on } from "../../../sessions/test/notebook-server.ts";
import { startRuns } from "../run.ts";
import { currentConnections, withConnections } from "../../src/index.ts";

/** Each event in a word or two, with the connection where there are several. */
const told = (events: ClientEvent[]) =>
  events.splice(0).map(({ connection, name, ...event }) => {
    const reason = event.action === "closed" ? ` ${event.reason}` : "";
    return `${connection}${name === undefined ? "" : `/${name}`} ${event.action}${reason}`;
  });
const call = (connection: string) => currentConnections().call(connection, "list_notes");

test("a run opens a client for each connection that it uses, once, and closes it", async () => {
  const { create, clientEvents } = await startRuns();
  await create().enter(async () => {
    await Promise.all([call("browser"), call("browser"), call("plain")]);
    await currentConnections().tools({ connections: ["browser"] });
    await currentConnections().ready("browser");
    expect(told(clientEvents).toSorted()).toEqual([
      "browser miss",
      "browser opened",
      "plain miss",
      "plain opened",
    ]);
  });
  expect(told(clientEvents)).toEqual(["plain closed run-over", "browser closed run-over"]);
  await create().enter(() => call("browser"));
  expect(told(clientEvents)).toEqual(["browser miss", "browser opened", "browser closed run-over"]);
});

test("a nested run finds the client of the run around, or opens it for that run", async () => {
  const { create, clientEvents } = await startRuns();
  await create().enter(async () => {
    await call("browser");
    told(clientEvents);
    await withConnections({}, async () => {
      await Promise.all([call("browser"), call("cart")]);
      await withConnections({}, () => call("cart"));
    });
    const inside = ["browser hit", "cart miss", "cart opened", "cart hit"];
    expect(told(clientEvents)).toEqual(inside);
    await call("cart");
    expect(told(clientEvents)).toEqual(["cart hit"]);
    await withConnections({ browser: "isolate" }, () => call("browser"));
    expect(told(clientEvents)).toEqual([
      "browser miss",
      "browser opened",
      "browser closed run-over",
    ]);
  });
});

test("runs side by side that use a connection first have one that opens it", async () => {
  const { create, clientEvents } = await startRuns();
  await create().enter(async () => {
    const agents = [1, 2, 3].map(() => withConnections({}, () => call("browser")));
    await Promise.all(agents);
    expect(told(clientEvents).toSorted()).toEqual([
      "browser hit",
      "browser hit",
      "browser miss",
      "browser opened",
    ]);
  });
});

test("a run that could not connect found no client, and neither does the next", async () => {
  const { create, clientEvents, browser } = await startRuns();
  browser.intercept(on("initialize", (_, response) => sendText(response, 403, "No.")));
  await create().enter(async () => {
    for (const _ of [1, 2]) await expect(call("browser")).rejects.toThrow("403");
    expect(told(clientEvents)).toEqual(["browser miss"]);
    browser.intercept(() => "next");
    await withConnections({}, () => call("browser"));
    expect(told(clientEvents)).toEqual(["browser miss", "browser opened"]);
  });
});

test("a fetch for another client is no client", async () => {
  const { create, clientEvents } = await startRuns();
  const registry = create();
  registry.fetch("browser");
  await registry.dispose();
  expect(clientEvents).toEqual([]);
});

test.each(backends)("a named session has its name, in %s", async (backend) => {
  const { step, clientEvents } = await startNotebooks(backend);
  await step(async ({ named }) => {
    await named.create("research", { connections: ["notes"] });
    told(clientEvents);
    const list = () => named.run("research", (own) => own.call("notes", "list_notes"));
    await Promise.all([list(), list()]);
    expect(told(clientEvents)).toEqual(["notes/research hit", "notes/research hit"]);
    await named.end("research");
    expect(told(clientEvents)).toEqual(["notes/research closed stale"]);
    await named.create("research", { connections: ["notes"] });
    expect(told(clientEvents)).toEqual(["notes/research miss", "notes/research opened"]);
  });
  expect(told(clientEvents)).toContain("notes/research closed run-over");
  await step(({ named }) => named.run("research", (own) => own.call("notes", "list_notes")));
  expect(told(clientEvents)).toContain("notes/research miss");
});

test("what fails in a named session is told with its name", async () => {
  const { step, events, server } = await startNotebooks("carried state");
  await step(async ({ named }) => {
    await named.create("research", { connections: ["notes"] });
    await named.run("research", (own) => own.restart("notes"));
    server.intercept((_, response) => sendText(response, 403, "No."));
    await named.run("research", (own) => own.tools({ connections: ["notes"] }));
    server.intercept(() => "next");
  });
  const down = events.filter(({ type }) => type === "unavailable");
  expect(down).toMatchObject([{ connection: "notes", name: "research", reason: "refused" }]);
});
