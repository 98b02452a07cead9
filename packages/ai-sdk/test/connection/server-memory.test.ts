import { describe, expect, test } from "vitest";
import { type Backend, backends, type Run, startAgent } from "../agent-session.ts";
import { sendJson } from "../../../core/test/http-server.ts";
import {
  type ModernServerOptions,
  startModernServer,
} from "../../../sessions/test/modern-server.ts";
import { type Interceptor, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, bob, callForText } from "../step.ts";
import { defineMcpClientConnection, type McpClientConnectionOptions } from "../../src/index.ts";

type Options = Partial<McpClientConnectionOptions>;

const allowing = { caching: { ttlMs: 60_000, cacheScope: "private" } };
const all = ["POST server/discover", "POST tools/list", "POST tools/call"];
const alone = ["POST tools/call"];

const define = ({ url }: { url: string }, options: Options) =>
  defineMcpClientConnection({ url, description: "A server.", ...options });

/** Steps whose processes may have other options. */
const startSteps = (backend: Backend, server: { url: string }) => {
  const agent = startAgent(backend, {});
  return async (options: Options, principal = alice) => {
    agent.events.length = 0;
    await agent.as({ one: define(server, options) }).step(listAndCall, { principal });
    return agent.types();
  };
};

async function listAndCall(run: Run) {
  const tools = await run.tools();
  return await callForText(tools, "one__greet" in tools ? "one__greet" : "one__list_notes");
}

/** The requests of a step, in which a call is made. */
async function requestsOf(
  server: { readonly log: string[]; readonly requests: unknown[] },
  step: () => Promise<unknown>,
): Promise<string[]> {
  server.requests.length = 0;
  await step();
  return server.log;
}

describe.each(backends)("what a server says of itself, in %s", (backend) => {
  const place = (server: { url: string }) => startSteps(backend, server);

  test.each<[string, ModernServerOptions, Options]>([
    ["as long as it allows", allowing, { memory: "server" }],
    ["on the application's word", {}, { memory: { pinMs: 60_000 } }],
    [
      "beneath a session fetch",
      allowing,
      { session: "stateful", memory: "server", capabilities: {} },
    ],
  ])("is kept %s: a cold step sends its call alone", async (...row) => {
    const [, server, options] = row;
    const modern = await startModernServer(server);
    const step = place(modern);
    expect(await requestsOf(modern, () => step(options))).toEqual(expect.arrayContaining(all));
    expect(await requestsOf(modern, () => step(options))).toEqual(alone);
    expect(await requestsOf(modern, () => step(options))).toEqual(alone);
  });

  test.each<[string, ModernServerOptions, Options]>([
    ["the connection does not ask for it", allowing, {}],
    ["the server does not allow it", { caching: { ttlMs: 0 } }, { memory: "server" }],
    ["the server does not speak of it", {}, { memory: "server" }],
  ])("is not kept if %s", async (...row) => {
    const [, server, options] = row;
    const modern = await startModernServer(server);
    const step = place(modern);
    await step(options);
    expect(await requestsOf(modern, () => step(options))).toEqual(all);
  });

  test("is each principal's own", async () => {
    const modern = await startModernServer(allowing);
    const step = place(modern);
    await step({ memory: "server" });
    expect(await requestsOf(modern, () => step({ memory: "server" }, bob))).toEqual(all);
    expect(await requestsOf(modern, () => step({ memory: "server" }))).toEqual(alone);
  });

  test("a server of the session era without ids is greeted once", async () => {
    const notebook = await startNotebookServer({ isSessionless: true });
    for (const options of [{ session: "stateful" }, { memory: "server" }] as const) {
      const step = place(notebook);
      const first = await requestsOf(notebook, () => step(options));
      expect(first.filter((line) => line === "POST initialize")).toHaveLength(1);
      expect(await requestsOf(notebook, () => step(options))).toEqual(alone);
    }
    const step = place(notebook);
    await step({});
    const without = await requestsOf(notebook, () => step({}));
    expect(without.filter((line) => line.startsWith("POST"))).toHaveLength(5);
  });

  test("a server that gives ids is not remembered", async () => {
    const notebook = await startNotebookServer();
    const step = place(notebook);
    const options = { memory: { pinMs: 60_000 } };
    await step(options);
    const second = await requestsOf(notebook, () => step(options));
    expect(second).toContain("POST initialize");
    expect(second).toContain("POST tools/list");
  });

  test.each<[string, (guard: Interceptor) => Promise<any>, number, string, Options]>([
    [
      "a version",
      (guard) => startModernServer({ ...allowing, guard }),
      -32022,
      "Unsupported protocol version",
      { memory: "server" },
    ],
    [
      "a header",
      (guard) => startModernServer({ ...allowing, guard }),
      -32020,
      "Header mismatch",
      { memory: "server" },
    ],
    [
      "the lack of a handshake",
      async (guard) => {
        const notebook = await startNotebookServer({ isSessionless: true });
        notebook.intercept(guard);
        return notebook;
      },
      -32000,
      "Bad Request: Server not initialized",
      { memory: "server" },
    ],
  ])("is asked again after the refusal of %s, once", async (...row) => {
    const [, start, code, message, options] = row;
    let refusals = 0;
    const server = await start((request, response) => {
      const { method, id } = request.message ?? {};
      if (method !== "tools/call" || refusals === 0) return "next";
      refusals -= 1;
      sendJson(response, 400, { jsonrpc: "2.0", id, error: { code, message } });
      return undefined;
    });
    const step = place(server);
    await step(options);
    refusals = 1;
    const requests = await requestsOf(server, async () => {
      expect(await step(options)).toContain("discarded");
    });
    expect(requests[0]).toBe("POST tools/call");
    expect(requests.at(-1)).toBe("POST tools/call");
    expect(requests.filter((line) => line === "POST tools/call")).toHaveLength(2);
    // What the server had said before the refusal is asked for again, once.
    await step(options);
    expect(await requestsOf(server, () => step(options))).toEqual(alone);

    refusals = 2;
    await expect(step(options)).rejects.toThrow(message);
    expect(refusals).toBe(0);
  });
});
