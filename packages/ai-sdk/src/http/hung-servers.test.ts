import { describe, expect, test } from "vitest";
import { type Interceptor, on, startNotebookServer } from "../../test/notebook-server.ts";
import { alice, bob, callForText, startApplication } from "../../test/step.ts";
import type { McpClientConnectionOptions } from "../connection/connection-options.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";

const connectMs = 200;

async function start(options: Partial<McpClientConnectionOptions> = {}) {
  const server = await startNotebookServer();
  const clock = { now: Date.now() };
  const { url } = server;
  /** A server that answers may be slow on a busy machine. */
  let timeouts = {};
  const define = () =>
    defineMcpClientConnection({ url, description: "Notes.", timeouts, ...options });
  const application = startApplication(() => ({ notes: define() }), { now: () => clock.now });
  const hang = (answer: Interceptor = () => undefined, ms = connectMs) => {
    timeouts = { connectMs: ms };
    server.intercept(answer);
  };
  const heal = () => {
    timeouts = {};
    server.intercept(() => "next");
  };
  const list = async (session = {}, principal = alice) => {
    const startedAt = performance.now();
    server.requests.length = 0;
    let names: string[] = [];
    const after = await application.step(
      session,
      async (registry) => {
        names = Object.keys(await registry.tools());
      },
      principal,
    );
    return { names, after, ms: performance.now() - startedAt, sent: server.requests.length };
  };
  return { server, clock, application, list, hang, heal };
}

describe.each(["stateful", "stateless"] as const)("a server that hung, %s,", (session) => {
  test("is not waited for again for five seconds, and is asked then", async () => {
    const { clock, application, list, hang, heal } = await start({ session });
    hang();
    expect(await list()).toMatchObject({ names: [] });
    expect(application.takeEvents()).toEqual(["unavailable"]);

    clock.now += 4_999;
    const second = await list();
    expect(second).toMatchObject({ names: [], sent: 0 });
    expect(second.ms).toBeLessThan(connectMs);
    expect(application.events).toMatchObject([
      {
        type: "unavailable",
        reason: "timeout",
        error: {
          code: "CONNECTION_UNAVAILABLE",
          message: expect.stringMatching(
            /\/mcp was silent for \d+ ms a moment ago, .* It is asked again after 1 s\./,
          ),
        },
      },
    ]);

    clock.now += 1;
    heal();
    expect((await list()).names).toContain("notes__add_note");
  });

  test("after the headers of its answer is remembered as well", async () => {
    const { list, hang } = await start({ session });
    hang((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    });
    await list();
    expect(await list()).toMatchObject({ names: [], sent: 0 });
  });

  test("at the listing is remembered as well", async () => {
    const { server, list, hang } = await start({ session });
    // The handshake before it takes its time on a busy machine.
    hang(
      on("tools/list", () => undefined),
      1_000,
    );
    await list();
    const second = await list();
    expect(second.names).toEqual([]);
    expect(server.log).not.toContain("POST tools/list");
  });

  test("is remembered for its principal only", async () => {
    const { list, hang, heal } = await start({ session });
    hang();
    await list();
    heal();
    expect((await list({}, bob)).names).toContain("notes__add_note");
    expect((await list()).names).toEqual([]);
  });

  test("is asked by who waits for it", async () => {
    const { list, application, hang, heal } = await start({ session });
    hang();
    await list();
    heal();
    await using registry = application.provider.create({ principal: alice });
    await registry.ready("notes");
    expect(Object.keys(await registry.tools())).toContain("notes__add_note");
  });

  test("is none that refused, is slow, or that nobody waited for", async () => {
    const { server, list, application, hang, heal } = await start({ session });
    server.intercept((_, response) => void response.writeHead(500).end());
    await list();
    hang();
    const abortSignal = AbortSignal.timeout(connectMs / 4);
    await using registry = application.provider.create({ principal: alice, abortSignal });
    await expect(registry.tools()).rejects.toThrow("timeout");
    heal();
    expect((await list()).names).toContain("notes__add_note");
  });
});

test("a session that goes on is used, although its server hung for another", async () => {
  const { list, application, hang, heal } = await start({ session: "stateful" });
  const { after } = await list();
  hang();
  await list();
  heal();
  await application.step(after, async (registry) => {
    expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("");
  });
});
