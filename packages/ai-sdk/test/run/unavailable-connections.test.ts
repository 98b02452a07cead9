import { describe, expect, test } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, startApplication } from "../step.ts";
import { defineMcpClientConnection } from "../../src/index.ts";

const define = ({ url }: { url: string }, session: "stateful" | "stateless") =>
  defineMcpClientConnection({ url, description: "A notebook.", session });

/** A run with a connection that works and two, one of each mode, that do not. */
async function startTwo() {
  const [server, broken] = [await startNotebookServer(), await startNotebookServer()];
  broken.intercept((_, response) => void response.writeHead(503).end("out of order"));
  const application = startApplication({
    notes: define(server, "stateful"),
    broken: define(broken, "stateful"),
    plain: define(broken, "stateless"),
  });
  const registry = application.provider.create({ principal: alice });
  return { server, broken, registry, ...application };
}

describe("a connection that is down", () => {
  test("leaves the others working and says so", async () => {
    const { registry, events, broken } = await startTwo();
    const tools = await registry.tools();
    expect(Object.keys(tools)).toContain("notes__add_note");
    expect(Object.keys(tools).filter((name) => !name.startsWith("notes__"))).toEqual([]);
    const unavailable = events.filter(({ type }) => type === "unavailable");
    expect(unavailable.map(({ connection }) => connection).toSorted()).toEqual(["broken", "plain"]);
    for (const event of unavailable) {
      expect(event).toMatchObject({
        error: {
          code: "CONNECTION_UNAVAILABLE",
          message: expect.stringContaining(broken.origin),
          data: { connection: event.connection, origin: broken.origin, status: 503 },
        },
      });
    }
    await registry.dispose();
  });

  test("is tried again when it is next used", async () => {
    const { registry, broken } = await startTwo();
    await registry.tools();
    broken.intercept(() => "next");
    const names = Object.keys(await registry.tools());
    expect(names).toEqual(expect.arrayContaining(["broken__add_note", "plain__add_note"]));
    await registry.dispose();
  });

  test("is an error where that is asked for, and an event", async () => {
    const { registry, events } = await startTwo();
    await expect(registry.tools({ onUnavailable: "throw" })).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { status: 503 },
    });
    // Whoever watches the events sees it too.
    await expect.poll(() => events.filter(({ type }) => type === "unavailable")).toHaveLength(2);
    await registry.dispose();
  });

  test("leaves out its instructions, and says so", async () => {
    const { registry, events } = await startTwo();
    expect(await registry.instructions()).toEqual({});
    expect(events.filter(({ type }) => type === "unavailable")).toHaveLength(2);
    await registry.dispose();
  });
});
