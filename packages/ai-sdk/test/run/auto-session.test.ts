import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { generateText, isStepCount, type ToolSet } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { isOfProgress } from "../collect-events.ts";
import { describingProgram } from "../../../sessions/test/describing-program.ts";
import {
  answer,
  type NotebookServerOptions,
  type NotebookServer,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { notebook } from "../saved-session.ts";
import { scriptedModel, toolResults } from "@durable-mcp/testing/ai-sdk";
import { bob, callForText, callTool } from "../step.ts";
import {
  type AutoSessionOptions,
  type ConnectionEvent,
  type ConnectionProvider,
  createConnectionProvider,
  currentConnections,
  defineMcpClientConnection,
  type McpConnection,
  withConnections,
} from "../../src/index.ts";
import { defineMcpStdioConnection } from "../../src/stdio.ts";

/** A busy machine takes its time. */
const patient = { timeout: 10_000 };

const app = { type: "app" } as const;
const providers: ConnectionProvider<any>[] = [];

afterEach(async () => {
  await Promise.all(providers.splice(0).map((provider) => provider.shutdown()));
});

/** A script whose provider has an implicit session on one notebook. */
async function startScript(
  options: Partial<AutoSessionOptions> = {},
  setUp?: NotebookServerOptions["setUp"],
  define: (server: NotebookServer) => McpConnection = notebook,
) {
  const server = await startNotebookServer(setUp && { setUp });
  const events: ConnectionEvent[] = [];
  const provider = createConnectionProvider({
    connections: { notes: define(server) },
    autoSession: { principal: app, ...options },
    onEvent: { every: (event) => events.push(event) },
  });
  providers.push(provider);
  /** The types of the events of its sessions. */
  const types = () =>
    events
      .filter((event) => event.type !== "client" && !isOfProgress(event))
      .map(({ type }) => type);
  return { server, provider, events, types };
}

const addNote = async (text: string) =>
  textOf(await currentConnections().call("notes", "add_note", { text }));
const textOf = (result: any) => result.content[0].text as string;

describe("the implicit session", () => {
  test("is one for all code, however many use it first", async () => {
    const { server } = await startScript();
    const added = await Promise.all(Array.from({ length: 20 }, () => addNote("a")));
    expect(new Set(added).size).toBe(20);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("is made on first use, and of its tools too", async () => {
    const { server } = await startScript();
    expect(currentConnections().connections).toEqual([
      { name: "notes", description: "A notebook.", session: "stateful" },
    ]);
    expect(server.log).toEqual([]);
    const tools = await currentConnections().tools();
    expect(await callForText(tools, "notes__add_note", { text: "a" })).toBe("1 notes");
    const log = server.log.filter((line) => line === "POST tools/list");
    expect(await callForText(tools, "notes__list_notes")).toBe("a");
    expect(server.log.filter((line) => line === "POST tools/list")).toEqual(log);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("is ended when it was not used for long enough, and made again", async () => {
    const { server } = await startScript({ idleTimeoutMs: 40 });
    const registry = currentConnections();
    const tools = await currentConnections().tools();
    const fetch = registry.fetch("notes");
    await addNote("a");
    await vi.waitFor(() => expect(server.liveSessions()).toBe(0), patient);
    expect(await callForText(tools, "notes__add_note", { text: "b" })).toBe("1 notes");
    await vi.waitFor(() => expect(server.liveSessions()).toBe(0), patient);
    expect(textOf(await registry.call("notes", "add_note", { text: "c" }))).toBe("1 notes");
    await vi.waitFor(() => expect(server.liveSessions()).toBe(0), patient);
    const response = await fetch(server.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 0,
        method: "initialize",
        params: {
          protocolVersion: "2025-11-25",
          capabilities: {},
          clientInfo: { name: "other", version: "1" },
        },
      }),
    });
    expect(await response.text()).toContain("notebook");
  });

  test.each(["the run", "its own client", "another client"])(
    "is not idle while a call of %s is under way",
    async (whose) => {
      const { server } = await startScript({ idleTimeoutMs: 20 });
      const registry = currentConnections();
      const call = { name: "wait" };
      const wait = async () => {
        if (whose === "the run") return await registry.call("notes", "wait");
        if (whose === "its own client")
          return await (await registry.client("notes")).callTool(call);
        const client = new Client({ name: "other", version: "1.0.0" });
        const fetch = registry.fetch("notes");
        const transport = new StreamableHTTPClientTransport(new URL(server.url), { fetch });
        await client.connect(transport);
        return await client.callTool(call);
      };
      const waiting = wait();
      await vi.waitFor(() => expect(server.waits).toEqual(["started"]), patient);
      await new Promise((resolve) => {
        setTimeout(resolve, 100);
      });
      expect(server.liveSessions()).toBe(1);
      server.release();
      expect(textOf(await waiting)).toBe("finished");
      await vi.waitFor(() => expect(server.liveSessions()).toBe(0), patient);
    },
  );

  test("is not idle while a run's stream is read, which needs no call meanwhile", async () => {
    const { server } = await startScript({ idleTimeoutMs: 20 });
    const until = Promise.withResolvers<void>();
    const stream = await currentConnections().enter(async () => {
      await addNote("a");
      return new ReadableStream<string>({
        async pull(controller) {
          await until.promise;
          controller.enqueue(await addNote("b"));
          controller.close();
        },
      });
    });
    await new Promise((resolve) => {
      setTimeout(resolve, 60);
    });
    expect(server.liveSessions()).toBe(1);
    until.resolve();
    expect(await stream.getReader().read()).toMatchObject({ value: "2 notes" });
    await vi.waitFor(() => expect(server.liveSessions()).toBe(0), patient);
  });

  test("asks for approval as other sessions do, also after its end", async () => {
    const aborted: boolean[] = [];
    const { server } = await startScript({}, undefined, ({ url }) =>
      defineMcpClientConnection({
        ...{ url, description: "A notebook.", session: "stateful" },
        approval: ({ abortSignal }) => {
          aborted.push(abortSignal.aborted);
          return "not-applicable";
        },
      }),
    );
    const tools = await currentConnections().tools();
    const list = async () => {
      const model = scriptedModel([{ tool: "notes__list_notes" }], "Done.");
      await generateText({ model, tools, prompt: "Go.", stopWhen: isStepCount(2) });
      expect(toolResults(model)).toHaveLength(1);
    };
    await list();
    await currentConnections().dispose();
    expect(server.liveSessions()).toBe(0);
    await list();
    expect(server.sessionIds).toHaveLength(2);
    expect(new Set(aborted)).toEqual(new Set([false]));
  });

  test("lists what the server offers now, and says which tool it offers no more", async () => {
    const sessions: McpServer[] = [];
    const { server } = await startScript({}, (mcp) => {
      sessions.push(mcp);
      const tool = sessions.length === 1 ? "learn" : "rest";
      mcp.registerTool(tool, {}, async ({ sendNotification }) => {
        mcp.registerTool("dance", {}, () => answer("dancing"));
        await sendNotification({ method: "notifications/tools/list_changed" });
        return answer("learned");
      });
    });
    const tools = await currentConnections().tools();
    expect(Object.keys(tools)).toEqual(["notes__learn"]);
    expect(await callForText(tools, "notes__learn")).toBe("learned");
    expect(Object.keys(await currentConnections().tools())).toEqual([
      "notes__learn",
      "notes__dance",
    ]);
    await currentConnections().dispose();
    expect(server.liveSessions()).toBe(0);
    await expect(callTool(tools, "notes__learn")).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      message: expect.stringContaining("notes__learn"),
    });
    expect(Object.keys(await currentConnections().tools())).toEqual(["notes__rest"]);
  });

  test("is no one's in a run", async () => {
    const { server, provider } = await startScript();
    await addNote("a");
    await provider.create({ principal: app }).enter(async (own) => {
      expect(currentConnections()).toBe(own);
      expect(await addNote("b")).toBe("1 notes");
    });
    expect(server.sessionIds).toHaveLength(2);
    expect(await addNote("c")).toBe("2 notes");
  });

  test("is that of a single call where the caller asks for it", async () => {
    const { server, provider } = await startScript();
    await addNote("a");
    const once = currentConnections({ ephemeral: true, provider, principal: app });
    expect(textOf(await once.call("notes", "add_note", { text: "b" }))).toBe("1 notes");
    expect(server.liveSessions()).toBe(1);
  });

  test("is what runs inherit and isolate from", async () => {
    const { server } = await startScript();
    await currentConnections().enter(async () => {
      expect(await addNote("a")).toBe("1 notes");
    });
    await withConnections({ notes: "isolate" }, async () => {
      expect(await addNote("b")).toBe("1 notes");
    });
    expect(server.liveSessions()).toBe(1);
    await withConnections({ notes: "isolate" }, () => addNote("c"), { principal: bob });
    await withConnections({}, async () => {
      expect(await addNote("d")).toBe("2 notes");
    });
    expect(server.liveSessions()).toBe(1);
  });

  test("ends when it is disposed of, and with the provider's shutdown", async () => {
    const { server, provider } = await startScript();
    await addNote("a");
    await currentConnections().dispose();
    expect(server.liveSessions()).toBe(0);
    expect(await addNote("b")).toBe("1 notes");
    await provider.shutdown();
    expect(server.liveSessions()).toBe(0);
    expect(() => currentConnections()).toThrow(expect.objectContaining({ code: "RUN_REQUIRED" }));
    await expect(withConnections({}, () => undefined)).rejects.toMatchObject({
      code: "RUN_REQUIRED",
    });
  });

  test("listens to no process where there is none, and ends after its idle time", async () => {
    const getBuiltinModule = process.getBuiltinModule.bind(process);
    vi.stubGlobal("process", { getBuiltinModule });
    try {
      const { server } = await startScript({ idleTimeoutMs: 30 });
      await addNote("a");
      await vi.waitFor(() => expect(server.liveSessions()).toBe(0), patient);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  test("listens to the process while it is open, and not afterwards", async () => {
    const before = process.listenerCount("beforeExit");
    await startScript();
    expect(process.listenerCount("beforeExit")).toBe(before);
    await addNote("a");
    expect(process.listenerCount("beforeExit")).toBe(before + 1);
    await currentConnections().dispose();
    expect(process.listenerCount("beforeExit")).toBe(before);
  });
});

/** What the model is sent as the results of one call after the other, without a pause in between. */
async function resultsOf(tools: ToolSet, ...names: string[]): Promise<string[]> {
  const calls = names.map((name) => [{ tool: `notes__${name}`, input: { text: "a" } }]);
  const model = scriptedModel(...calls, "Done.");
  const stopWhen = isStepCount(9);
  await currentConnections().enter(() => generateText({ model, tools, prompt: "Go.", stopWhen }));
  return toolResults(model);
}

const note = /^Note: .* is gone; .*\n/;

/** What the model gets of a call under the name `login`. */
const inLogin = async () =>
  await withConnections({ notes: { named: "login" } }, async () => {
    const model = scriptedModel([{ tool: "notes__describe" }], "Done.");
    const tools = await currentConnections().tools();
    await generateText({ model, tools, prompt: "Go.", stopWhen: isStepCount(2) });
    return toolResults(model);
  });

describe("after the implicit session ended by idling", () => {
  test("the next tool result says so to the model, and only that one", async () => {
    const { server, events, types } = await startScript({ idleTimeoutMs: 30 });
    const script = currentConnections();
    const tools = await script.enter(async () => {
      expect(await addNote("a")).toBe("1 notes");
      return await script.tools();
    });
    await vi.waitFor(() => expect(server.liveSessions()).toBe(0), patient);
    expect(types()).toEqual(["started", "ended"]);
    expect(events).toContainEqual({ type: "ended", connection: "notes", reason: "idle" });
    // Tools of before and tools of now tell it alike.
    const results = await resultsOf(tools, "list_notes", "list_notes");
    expect(results).toEqual([expect.stringMatching(note), ""]);
    await vi.waitFor(() => expect(server.liveSessions()).toBe(0), patient);
    const later = await resultsOf(await currentConnections().tools(), "list_notes", "list_notes");
    expect(later).toEqual([expect.stringMatching(note), ""]);
    expect(types()).toContain("recovered");
  });

  test("a definition's own words are used, and `onStart` knows", async () => {
    const reasons: string[] = [];
    const { server } = await startScript({ idleTimeoutMs: 30 }, undefined, ({ url }) =>
      defineMcpClientConnection({
        url,
        description: "A notebook.",
        session: {
          mode: "stateful",
          lossNotice: "Begin again.",
          onStart: ({ reason }) => void reasons.push(reason),
        },
      }),
    );
    await addNote("a");
    await vi.waitFor(() => expect(server.liveSessions()).toBe(0), patient);
    const tools = await currentConnections().tools();
    expect(await resultsOf(tools, "list_notes")).toEqual([expect.stringMatching(/^Begin again\./)]);
    expect(reasons).toEqual(["started", "recovered"]);
  });

  test("the model is told of a stdio server under a name, too", async () => {
    const { events } = await startScript({ idleTimeoutMs: 30 }, undefined, () =>
      defineMcpStdioConnection({ ...describingProgram(), description: "A program." }),
    );
    expect(await inLogin()).toEqual([expect.not.stringContaining("had lost")]);
    const told = { type: "ended", connection: "notes", name: "login", reason: "idle" };
    await vi.waitFor(() => expect(events).toContainEqual(told), patient);
    expect(await inLogin()).toEqual([expect.stringMatching(/had lost[^]*clientInfo/)]);
  });

  test("nobody is told of a session that there was not, or that the script ended itself", async () => {
    const { server, types } = await startScript();
    expect(currentConnections().connections).toHaveLength(1);
    await withConnections({ notes: "isolate" }, () => addNote("a"));
    await vi.waitFor(() => expect(server.liveSessions()).toBe(0), patient);
    expect(await resultsOf(await currentConnections().tools(), "list_notes")).toEqual([""]);
    await currentConnections().dispose();
    expect(await resultsOf(await currentConnections().tools(), "list_notes")).toEqual([""]);
    expect(types()).not.toContain("ended");
  });
});

test("only one provider of a process can have an implicit session at a time", async () => {
  const { server, provider } = await startScript();
  const another = () =>
    createConnectionProvider({
      connections: { notes: notebook(server) },
      autoSession: { principal: app },
    });
  expect(another).toThrow(
    expect.objectContaining({
      code: "CONNECTION_INVALID",
      data: { field: "autoSession" },
      message: expect.stringContaining("already"),
    }),
  );
  await addNote("a");
  await provider.shutdown();
  providers.push(another());
  expect(await addNote("b")).toBe("1 notes");
});

test.each([
  [{}, "PRINCIPAL_REQUIRED", "principal"],
  [{ principal: { type: "user" } }, "CONNECTION_INVALID", "principal.issuer"],
  [{ principal: app, idleTimeoutMs: 0 }, "CONNECTION_INVALID", "autoSession.idleTimeoutMs"],
  [{ principal: app, sessionId: "nightly" }, "CONNECTION_INVALID", "autoSession.sessionId"],
  [{ principal: app, idleTimeoutMs: 2 ** 31 }, "CONNECTION_INVALID", "autoSession.idleTimeoutMs"],
])("refuses %j", (autoSession, code, field) => {
  expect(() =>
    createConnectionProvider({ connections: {}, autoSession: autoSession as any }),
  ).toThrow(expect.objectContaining({ code, data: { field } }));
  expect(() => currentConnections()).toThrow(expect.objectContaining({ code: "RUN_REQUIRED" }));
});
