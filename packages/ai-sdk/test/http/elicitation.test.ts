import { setTimeout } from "node:timers/promises";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test, vi } from "vitest";
import { confirm, startAskingServer } from "../../../sessions/test/asking-server.ts";
import { answer, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice, bob, callForText, startApplication } from "../step.ts";
import type { ConnectionContext } from "../../../sessions/src/declare/connection-context.ts";
import {
  createConnectionProvider,
  defineMcpClientConnection,
  type McpClientConnectionOptions,
} from "../../src/index.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";

/** A tool that asks for a name, on the stream of the session rather than on that of the call. */
function registerGreeting(mcp: McpServer): void {
  mcp.registerTool("greet", {}, async () => {
    const reply = await mcp.server.elicitInput({
      message: "What is your name?",
      requestedSchema: { type: "object", properties: { name: { type: "string" } } },
    });
    return answer(`${reply.action}: ${String(reply.content?.["name"])}`);
  });
}

const define = (url: string, options: Partial<McpClientConnectionOptions> = {}) =>
  defineMcpClientConnection({
    url,
    description: "A greeter.",
    session: "stateful",
    timeouts: { callMs: 4_000 },
    ...options,
  });

const decline = () => Promise.resolve({ action: "decline" } as const);

describe("onElicitation", () => {
  test("answers the server in each step, over one stream opened after the acknowledgement", async () => {
    const server = await startNotebookServer({ setUp: registerGreeting });
    const questions: unknown[] = [];
    const onElicitation: McpClientConnectionOptions["onElicitation"] = ({ params }) => {
      questions.push(params.message);
      return { action: "accept", content: { name: "Ada" } };
    };
    const application = startApplication({ hello: define(server.url, { onElicitation }) });
    // The client does not wait for its stream, and the server would not wait for it either.
    const listening = (count: number) =>
      vi.waitFor(() => expect(server.log.filter((line) => line === "GET")).toHaveLength(count));
    const use = (count: number) => async (registry: any) => {
      const tools = await registry.tools();
      await listening(count);
      expect(await callForText(tools, "hello__greet")).toBe("accept: Ada");
    };
    const session = await application.step({}, use(1));
    const { log } = server;
    expect(log.slice(0, 2)).toEqual(["POST initialize", "POST notifications/initialized"]);
    expect(log.filter((line) => line === "GET")).toHaveLength(1);
    expect(server.requests[0]?.message.params.capabilities).toEqual({ elicitation: {} });

    server.requests.length = 0;
    await application.step(session, use(1));
    expect(server.log.toSorted()).toEqual(["GET", "POST", "POST tools/call"]);
    expect(questions).toEqual(["What is your name?", "What is your name?"]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("is not asked about a URL with another host as its user name", async () => {
    const server = await startNotebookServer({
      setUp: (mcp) =>
        mcp.registerTool("pay", {}, async () => {
          const url = "https://bank.example@evil.example/";
          // The client takes no request without a schema, in any mode.
          const params = { mode: "url", message: "Pay", url, requestedSchema: {} };
          const request: any = { method: "elicitation/create", params };
          const asking = mcp.server.request(request, ElicitResultSchema);
          return answer(await asking.then(({ action }) => action, String));
        }),
    });
    const asked: unknown[] = [];
    const onElicitation: McpClientConnectionOptions["onElicitation"] = (request) => {
      asked.push(request);
      return { action: "accept" };
    };
    const capabilities = { elicitation: { url: {} } };
    const pay = define(server.url, { onElicitation, capabilities });
    await startApplication({ pay }).step({}, async (registry) => {
      const tools = await registry.tools();
      await vi.waitFor(() => expect(server.log).toContain("GET"));
      expect(await callForText(tools, "pay__pay")).toContain("The URL must begin with http:");
    });
    expect(asked).toEqual([]);
  });

  test("answers the server's question in the first call of each of ten steps in a row", async () => {
    const server = await startNotebookServer({ setUp: registerGreeting });
    const application = startApplication({ hello: define(server.url, { onElicitation: decline }) });
    let session: Parameters<typeof application.step>[0] = {};
    for (let step = 1; step <= 10; step += 1) {
      session = await application.step(session, async (registry) => {
        expect(await callForText(await registry.tools(), "hello__greet")).toContain("decline");
      });
    }
    expect(server.sessionIds).toHaveLength(1);
  });

  test("answers the server after the session was lost and recovered", async () => {
    const server = await startNotebookServer({ setUp: registerGreeting });
    const hello = define(server.url, { onElicitation: decline, timeouts: { callMs: 10_000 } });
    const application = startApplication({ hello });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      await vi.waitFor(() => expect(server.log).toContain("GET"));
      server.forgetSessions();
      expect(await callForText(tools, "hello__greet")).toBe("decline: undefined");
    });
  });

  test("is not asked in a step beside another that listens on the session, which is told", async () => {
    const server = await startNotebookServer({ setUp: registerGreeting });
    const application = startApplication({ hello: define(server.url, { onElicitation: decline }) });
    const listens = () => vi.waitFor(() => expect(server.log).toContain("GET"));
    const begun = await application.step({}, async (registry) => await registry.tools());
    server.requests.length = 0;
    await application.step(begun, async (first) => {
      await first.client("hello");
      await listens();
      await application.step(begun, async (second) => {
        await second.client("hello");
        const told = { type: "stream-taken", connection: "hello" };
        await vi.waitFor(() => expect(application.events).toContainEqual(told));
      });
    });
    expect(server.sessionIds).toHaveLength(1);
  });

  test("is told on whose behalf it answers", async () => {
    const server = await startNotebookServer({ setUp: registerGreeting });
    const contexts: ConnectionContext[] = [];
    const onElicitation: McpClientConnectionOptions["onElicitation"] = (_, context) => {
      contexts.push(context);
      const name = context.principal?.type === "user" ? context.principal.id : "nobody";
      return { action: "accept", content: { name } };
    };
    const application = startApplication({ hello: define(server.url, { onElicitation }) });
    for (const principal of [alice, bob]) {
      await application.step(
        {},
        async (registry) => {
          const answered = await callForText(await registry.tools(), "hello__greet");
          expect(answered).toBe(`accept: ${principal.type === "user" ? principal.id : ""}`);
        },
        principal,
      );
    }
    const abortSignal = expect.any(AbortSignal);
    expect(contexts).toEqual([
      { principal: alice, connection: "hello", abortSignal },
      { principal: bob, connection: "hello", abortSignal },
    ]);
  });

  test("that fails is an error for the server, and the tool's to handle", async () => {
    const server = await startNotebookServer({ setUp: registerGreeting });
    const hello = define(server.url, {
      onElicitation: () => Promise.reject(new Error("Nobody is there.")),
    });
    const application = startApplication({ hello });
    await application.step({}, async (registry) => {
      const tools = await registry.tools();
      await vi.waitFor(() => expect(server.log).toContain("GET"));
      expect(await callForText(tools, "hello__greet")).toContain("Nobody is there.");
    });
  });
});

const answerLate: McpClientConnectionOptions["onElicitation"] = async ({ params }) => {
  await setTimeout(1_500);
  const content = params.message === confirm.params.message ? { ok: true } : { name: "Ada" };
  return { action: "accept", content };
};

describe("a person who takes longer than the limits of a call", () => {
  const timeouts = { callMs: 600, answerMs: 600 };

  test("is waited for, on a session", async () => {
    const server = await startNotebookServer({ setUp: registerGreeting });
    const hello = define(server.url, { onElicitation: answerLate, timeouts });
    await startApplication({ hello }).step({}, async (registry) => {
      const tools = await registry.tools();
      await vi.waitFor(() => expect(server.log).toContain("GET"));
      expect(await callForText(tools, "hello__greet")).toBe("accept: Ada");
      expect(await registry.call("hello", "greet")).toMatchObject(answer("accept: Ada"));
    });
    expect(server.log).not.toContain("POST notifications/cancelled");
  });

  test("is waited for, without sessions, and between two questions", async () => {
    const server = await startAskingServer();
    const shop = define(server.url, { onElicitation: answerLate, timeouts, session: "stateless" });
    await startApplication({ shop }).step({}, async (registry) => {
      const said = await registry.call("shop", "order_twice", { item: "tea" });
      expect(said).toMatchObject(answer("order_twice tea is done."));
    });
    expect(server.legs).toHaveLength(3);
  });

  test("is waited for by a process", async () => {
    const program = `
      const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
      const text = (value) => ({ content: [{ type: "text", text: value }] });
      let callId;
      require("node:readline").createInterface(process.stdin).on("line", (line) => {
        const { id, method, params, result } = JSON.parse(line);
        const { protocolVersion } = params ?? {};
        const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
        const serverInfo = { name: "raw", version: "1" };
        const capabilities = { tools: {} };
        if (method === "initialize") say({ id, result: { protocolVersion, serverInfo, capabilities } });
        else if (method === "tools/list") say({ id, result: { tools: [{ name: "greet", inputSchema: { type: "object" } }] } });
        else if (method === "tools/call") {
          callId = id;
          say({ id: "q", method: "elicitation/create", params: { message: "Name?", requestedSchema } });
        } else if (id === "q") say({ id: callId, result: text(result.content.name) });
      });`;
    const hello = defineMcpStdioConnection({
      ...{ command: process.execPath, args: ["-e", program], description: "A greeter." },
      ...{ onElicitation: answerLate, timeouts: { callMs: 600 } },
    });
    const provider = createConnectionProvider({ connections: { hello } });
    const { result } = await provider.run({ session: {}, principal: alice }, async (run) => {
      await run.tools();
      return await run.call("hello", "greet");
    });
    expect(result).toMatchObject(answer("Ada"));
  });

  test("gives a server that is silent afterwards no more time than others", async () => {
    const server = await startNotebookServer({
      setUp: (mcp) =>
        mcp.registerTool("greet", {}, async () => {
          await mcp.server.elicitInput({
            message: "What is your name?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } } },
          });
          return await new Promise<never>(() => undefined);
        }),
    });
    const hello = define(server.url, { onElicitation: answerLate, timeouts });
    await startApplication({ hello }).step({}, async (registry) => {
      await registry.tools();
      await vi.waitFor(() => expect(server.log).toContain("GET"));
      await expect(registry.call("hello", "greet")).rejects.toMatchObject({
        code: "OUTCOME_UNKNOWN",
      });
    });
  });
});

test("without onElicitation no stream is opened and no capability declared", async () => {
  const server = await startNotebookServer({ setUp: registerGreeting });
  const application = startApplication({ hello: define(server.url) });
  await application.step({}, async (registry) => {
    const text = await callForText(await registry.tools(), "hello__greet");
    expect(text).toContain("does not support");
  });
  expect(server.log).not.toContain("GET");
  expect(server.requests[0]?.message.params.capabilities).toEqual({});
});

test("capabilities are declared as they are given", async () => {
  const server = await startNotebookServer({ setUp: registerGreeting });
  const capabilities = { elicitation: { applyDefaults: true }, extensions: { "a.test/x": {} } };
  const hello = define(server.url, { capabilities, onElicitation: () => ({ action: "cancel" }) });
  await startApplication({ hello }).step({}, (registry) => registry.client("hello"));
  expect(server.requests[0]?.message.params.capabilities).toEqual(capabilities);
});
