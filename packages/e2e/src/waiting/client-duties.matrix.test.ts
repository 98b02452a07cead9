import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { InputResponses } from "@durable-mcp/core/waiting";
import { createAiSdk2 } from "../clients/ai-sdk-2.ts";
import { createClient2Auto } from "../clients/client-2.ts";
import { type AskingLeg, type AskingServer, startAskingServer } from "../servers/asking.ts";
import { startClientProcesses } from "./client-processes.ts";

let server: AskingServer;
beforeAll(async () => {
  server = await startAskingServer();
});
afterAll(() => server?.stop());

const yes: InputResponses = { confirm: { action: "accept", content: { ok: true } } };
const noon: InputResponses = { delivery: { action: "accept", content: { time: "12:00" } } };
const metaKey = (name: string) => `io.modelcontextprotocol/${name}`;

describe.each([
  ["@modelcontextprotocol/client 2", createClient2Auto],
  ["@ai-sdk/mcp 2", createAiSdk2],
] as const)("over %s", (_, create) => {
  const start = () => startClientProcesses(server, create);

  test("a retry repeats the call, with the answers and the state as it came, under an id of its own (M14, M24, M26, M28)", async () => {
    const processes = start();
    await processes.call("place_order", { item: "tea" });
    await processes.answer(yes);
    const { result } = await processes.answer(noon);
    expect(result?.["content"]).toEqual([{ type: "text", text: "tea comes at 12:00." }]);

    const [first, second] = statesIn(processes.results());
    expect(first).not.toBe(second);
    const legs = processes.legs();
    expect(legs.map(({ params }) => [params.inputResponses, params.requestState])).toEqual([
      [undefined, undefined],
      [yes, first],
      [noon, second],
    ]);
    const [original, ...retries] = legs.map(repeated);
    expect(retries).toEqual([original, original]);
    expect(new Set(legs.map(({ id }) => id)).size).toBe(3);
  });

  test("a retry has no state if the server gave none (M25)", async () => {
    const processes = start();
    await processes.call("bare");
    await processes.answer(yes);
    const [, retry] = processes.legs();
    expect(retry?.params.inputResponses).toEqual(yes);
    expect(retry?.params).not.toHaveProperty("requestState");
  });

  test("no other request has a call's answers or state: before, beside and after its retry (M27)", async () => {
    const processes = start();
    await processes.call("place_order", { item: "salt" });
    const callAnother = () => processes.call("no_questions", { text: "no" });
    await callAnother();
    await Promise.all([processes.answer(yes), callAnother(), callAnother()]);
    await callAnother();
    const others = processes.legs().filter(({ params }) => params.name === "no_questions");
    expect(others).toHaveLength(4);
    for (const { params } of others) {
      expect(Object.keys(params).toSorted()).toEqual(["_meta", "arguments", "name"]);
    }
  });

  test("a retry has the version, the method, the name and the mirrored arguments in headers, and accepts both types (M2, M4)", async () => {
    const processes = start();
    await processes.call("with_header", { region: "north" });
    await processes.answer(yes);
    const described = processes.legs().map(({ headers, params }) => {
      const { "mcp-protocol-version": version, ...others } = headers;
      expect(version).toBe(params["_meta"]?.[metaKey("protocolVersion")]);
      return others;
    });
    const expected = {
      "mcp-method": "tools/call",
      "mcp-name": "with_header",
      "mcp-param-region": "north",
    };
    expect(described).toEqual([expected, expected]);
    for (const { accept } of processes.sent()) {
      expect(accept).toMatch(/application\/json.*text\/event-stream/);
    }
  });

  test("each request says that a person can be asked in forms and at URLs (M29)", async () => {
    const processes = start();
    await processes.call("bare");
    await processes.answer(yes);
    const metas = processes.sent().flatMap(({ params, method }) => {
      const { [metaKey("clientCapabilities")]: capabilities } = params["_meta"] ?? {};
      return capabilities === undefined ? [] : [{ method, capabilities }];
    });
    expect(metas.map(({ method }) => method)).toEqual(
      expect.arrayContaining(["server/discover", "tools/list", "tools/call"]),
    );
    for (const { capabilities } of metas) {
      expect(capabilities).toMatchObject({ elicitation: { form: {}, url: {} } });
    }
  });

  test("nobody opens a question's URL, which is shown whole beside the server's origin (M31, M35, M36)", async () => {
    const processes = start();
    const visits = server.visits();
    const call = await processes.call("consent");
    const { origin } = new URL(server.url);
    expect(call?.server).toBe(origin);
    const { params } = call?.requests["login"] ?? {};
    expect(params).toMatchObject({ mode: "url", url: expect.stringMatching(`^${origin}/pages/.`) });
    await processes.answer({ login: { action: "accept" } });
    expect(server.visits()).toBe(visits);
  });

  test("consent to a URL does not mean that the work there is done: the server asks again (M37)", async () => {
    const processes = start();
    const call = await processes.call("consent", { untilVisited: true });
    const { call: again } = await processes.answer({ login: { action: "accept" } });
    expect(again).toMatchObject({ id: call?.id, state: "waiting", round: 2 });
    const { params } = again.requests["login"] ?? {};
    await fetch((params as { url: string }).url);
    const { result } = await processes.answer({ login: { action: "accept" } });
    expect(result?.["content"]).toEqual([{ type: "text", text: "Signed in." }]);
  });

  test.each(["decline", "cancel"] as const)("the server gets a %s too (M32)", async (action) => {
    const processes = start();
    await processes.call("place_order", { item: "ink" });
    const { call, result } = await processes.answer({ confirm: { action } });
    expect(processes.legs().at(-1)?.params.inputResponses).toEqual({ confirm: { action } });
    expect(call.state).toBe("settled");
    expect(result?.["content"]).toEqual([{ type: "text", text: "ink was not ordered." }]);
  });

  test("answers that do not fit the form are not sent, and the question still waits (M34)", async () => {
    const processes = start();
    await processes.call("place_order", { item: "oil" });
    const wrong = { confirm: { action: "accept", content: { ok: "yes" } } } as const;
    await expect(processes.answer(wrong)).rejects.toMatchObject({ code: "INPUT_INVALID" });
    expect(processes.legs()).toHaveLength(1);
    expect((await processes.answer(yes)).call).toMatchObject({ state: "waiting", round: 2 });
  });

  test("a call whose server only wants it again is sent again by itself, with the state (M24)", async () => {
    const processes = start();
    expect(await processes.call("poll", { retries: 1 })).toBeUndefined();
    const [state] = statesIn(processes.results());
    const legs = processes.legs();
    expect(legs.map(({ params }) => params.requestState)).toEqual([undefined, state]);
    expect(legs[1]?.params).not.toHaveProperty("inputResponses");
  });

  test("nothing keeps what a retry brought: the same request asks again (M22)", async () => {
    const processes = start();
    const name: InputResponses = { name: { action: "accept", content: { text: "Ada" } } };
    await processes.use(async (client) => {
      await client.readFirst();
      const { result } = await processes.answer(name, "asking://letter");
      expect(result?.["contents"]).toMatchObject([{ text: "Dear Ada" }]);
      await client.readFirst();
    });
    const reads = processes.legs().filter(({ method }) => method === "resources/read");
    expect(reads.map(({ params }) => params.inputResponses)).toEqual([undefined, name, undefined]);
  });
});

/** The states in results, byte for byte. */
function statesIn(results: readonly Record<string, unknown>[]): unknown[] {
  return results.flatMap(({ requestState: state }) => (state === undefined ? [] : [state]));
}

/** What a retry repeats of the call. A progress token is fresh in each request. */
function repeated({ method, params, headers }: AskingLeg): object {
  const { inputResponses: _, requestState: __, _meta: meta = {}, ...own } = params;
  const { progressToken: ___, ...kept } = meta;
  return { method, headers, params: { ...own, _meta: kept } };
}
