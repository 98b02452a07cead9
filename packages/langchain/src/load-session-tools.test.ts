import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import {
  defineMcpClientConnection,
  type McpClientConnectionOptions,
  McpSessionError,
  withConnections,
} from "@durable-mcp/ai-sdk";
import type { DynamicStructuredTool } from "@langchain/core/tools";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type NotebookServer,
  on,
  startNotebookServer,
} from "../../sessions/test/notebook-server.ts";
import { sendJson, sendText } from "../../core/test/http-server.ts";
import { notebook, startSaved } from "../../ai-sdk/test/saved-session.ts";
import { alice, startApplication } from "../../ai-sdk/test/step.ts";
import { call, startNotes } from "../test/notebook-agent.ts";
import { loadSessionTools } from "./load-session-tools.ts";

const notes = ({ url }: NotebookServer, options: Partial<McpClientConnectionOptions> = {}) =>
  defineMcpClientConnection({ url, description: "A notebook.", session: "stateful", ...options });

async function failureOf(work: Promise<unknown>): Promise<Error & { cause?: any }> {
  return await work.then(
    () => {
      throw new Error("It did not fail.");
    },
    (error: unknown) => error as Error,
  );
}

const count = ({ log }: NotebookServer, request: string) =>
  log.filter((line) => line === request).length;

test("the server sees the client's name of the definition", async () => {
  const client = { name: "shop", version: "2.3.4" };
  const { server, application } = await startNotes({ session: "stateless", client });
  await application.step({}, async (registry) => {
    await call(await loadSessionTools(registry), "notes__list_notes");
  });
  const seen = server.requests.filter(({ message }) => message?.method === "initialize");
  expect(seen.map(({ message }) => message.params.clientInfo)).toEqual(seen.map(() => client));
  expect(seen).not.toEqual([]);
});

describe("one session", () => {
  test("lasts over steps, and a resumed step sends one request for one call", async () => {
    const { server, application } = await startNotes();
    const first = await application.step({}, async (registry) => {
      const tools = await loadSessionTools(registry);
      expect(await call(tools, "notes__add_note", { text: "a" })).toMatchObject({
        content: "1 notes",
      });
    });
    server.requests.length = 0;
    await application.step(first, async (registry) => {
      const tools = await loadSessionTools(registry);
      expect(await call(tools, "notes__list_notes")).toMatchObject({ content: "a" });
    });
    expect(server.log).toEqual(["POST tools/call"]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("is shared with the AI SDK tools of the same run", async () => {
    const { server, application } = await startNotes();
    await application.step({}, async (registry) => {
      await call(await loadSessionTools(registry), "notes__add_note", { text: "a" });
      const client = await registry.client("notes");
      expect(await client.callTool({ name: "list_notes" })).toMatchObject({
        content: [{ text: "a" }],
      });
    });
    expect(server.sessionIds).toHaveLength(1);
  });

  test("takes one client, however many load and call at once", async () => {
    const { server, application } = await startNotes();
    await application.step({}, async (registry) => {
      const loads = Array.from({ length: 100 }, () => loadSessionTools(registry));
      const tools = await Promise.all(loads);
      const calls = tools.map((own) => call(own, "notes__add_note", { text: "a" }));
      const contents = (await Promise.all(calls)).map(({ content }) => content);
      expect(new Set(contents).size).toBe(100);
    });
    expect(count(server, "POST initialize")).toBe(1);
    expect(count(server, "POST tools/list")).toBe(1);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("a stateless connection has one client a run, too, and ends what it was given", async () => {
    const { server, application } = await startNotes({ session: "stateless" });
    await application.step({}, async (registry) => {
      const loads = Array.from({ length: 20 }, () => loadSessionTools(registry));
      const tools = await Promise.all(loads);
      await call(tools[3]!, "notes__add_note", { text: "a" });
      expect(await call(tools[7]!, "notes__list_notes")).toMatchObject({ content: "a" });
      expect(server.liveSessions()).toBe(1);
    });
    expect(count(server, "POST initialize")).toBe(1);
    expect(server.liveSessions()).toBe(0);
  });

  test("a connect that failed is tried again with the next load", async () => {
    const { server, application } = await startNotes();
    server.intercept(on("initialize", (_, response) => sendText(response, 503)));
    await application.step({}, async (registry) => {
      expect(await loadSessionTools(registry)).toEqual([]);
      server.intercept(() => "next");
      expect(await loadSessionTools(registry)).not.toEqual([]);
    });
  });
});

describe("clean-up", () => {
  test("disposing of the run closes the client, and leaves the server's session", async () => {
    const { server, application } = await startNotes({ capabilities: { roots: {} } });
    const streams: ServerResponse[] = [];
    server.intercept(
      on("GET", (_, response) => {
        streams.push(response);
        return "next" as const;
      }),
    );
    const registry = application.provider.create({ principal: alice });
    await call(await loadSessionTools(registry), "notes__add_note", { text: "a" });
    // It listens for as long as it is open.
    await expect.poll(() => streams.map(({ closed }) => closed)).toEqual([false]);
    await registry.dispose();
    await expect.poll(() => streams.map(({ closed }) => closed)).toEqual([true]);
    expect(server.liveSessions()).toBe(1);
  });

  test("a call under way ends with the run, and later ones say why they cannot be", async () => {
    const { server, application } = await startNotes();
    const registry = application.provider.create({ principal: alice });
    const tools = await loadSessionTools(registry);
    const waiting = failureOf(call(tools, "notes__wait"));
    await expect.poll(() => server.waits).toEqual(["started"]);
    await registry.dispose();
    expect(await waiting).toHaveProperty("name", "ToolException");
    const { message, cause } = await failureOf(call(tools, "notes__list_notes"));
    expect(message).toContain("the run is over");
    expect(cause).toHaveProperty("code", "CONNECTION_UNAVAILABLE");
    await expect(loadSessionTools(registry)).rejects.toThrow(/the run is over/);
    server.release();
  });

  test("a load under way when the run is disposed of leaves nothing open", async () => {
    const { server, application } = await startNotes();
    const registry = application.provider.create({ principal: alice });
    const held = Promise.withResolvers<void>();
    server.intercept(on("tools/list", () => held.promise.then(() => "next" as const)));
    const loading = failureOf(loadSessionTools(registry));
    await expect.poll(() => server.log).toContain("POST tools/list");
    await registry.dispose();
    expect(await loading).toBeInstanceOf(Error);
    held.resolve();
  });
});

async function listed(): Promise<unknown> {
  return (await call(await loadSessionTools(), "notes__list_notes")).content;
}

async function addDeepInside() {
  return await call(await loadSessionTools(), "notes__add_note", { text: "a" });
}

describe("in a run", () => {
  test("the tools of the run's session are found without passing anything by hand", async () => {
    const { server, application, session } = await startSaved();
    await application.step(session, async (registry) => {
      await registry.enter(async () => {
        await sleep(1);
        expect(await Promise.all([addDeepInside(), addDeepInside()])).toHaveLength(2);
      });
    });
    expect(server.sessionIds).toHaveLength(1);
    await expect(loadSessionTools()).rejects.toMatchObject({ code: "RUN_REQUIRED" });
  });

  test("a nested run has sessions of its own, or the same", async () => {
    const { server, application } = await startNotes();
    await application.step({}, (registry) =>
      registry.enter(async () => {
        await call(await loadSessionTools(), "notes__add_note", { text: "a" });
        expect(await withConnections({}, listed)).toBe("a");
        expect(await withConnections({ notes: "isolate" }, listed)).toBe("");
        expect(await withConnections({ notes: { named: "b" } }, listed)).toBe("");
        expect(await listed()).toBe("a");
      }),
    );
    // The isolated one was ended with its run.
    expect(server.sessionIds).toHaveLength(3);
    expect(server.liveSessions()).toBe(2);
  });
});

describe("a connection's options", () => {
  test("only the tools it offers are loaded", async () => {
    const server = await startNotebookServer();
    const application = startApplication({
      allowed: notes(server, { tools: { allow: ["list_notes"] } }),
      blocked: notes(server, { tools: { block: ["fail", "wait"] } }),
      typed: notes(server, { schemas: { add_note: { inputSchema: z.object({}) } } }),
    });
    await application.step({}, async (registry) => {
      const tools = await loadSessionTools(registry);
      expect(tools.map(({ name }) => name)).toEqual([
        "allowed__list_notes",
        ...["blocked__add_note", "blocked__list_notes"],
        "typed__add_note",
      ]);
    });
  });

  test("names are those of the AI SDK tools, also where a model would not take the server's", async () => {
    const long = `long_${"name_".repeat(15)}`;
    const { application } = await startNotes(
      {},
      {
        setUp: (mcp) => {
          for (const name of ["plain", "with.dots", long]) {
            mcp.registerTool(name, {}, () => ({ content: [{ type: "text", text: name }] }));
          }
        },
      },
    );
    await application.step({}, async (registry) => {
      const tools = await loadSessionTools(registry);
      expect(tools.map(({ name }) => name)).toEqual(Object.keys(await registry.tools()));
      expect(Math.max(...tools.map(({ name }) => name.length))).toBe(64);
      for (const [index, name] of ["plain", "with.dots", long].entries()) {
        expect(await call(tools, tools[index]!.name)).toMatchObject({ content: name });
      }
    });
  });

  test("a server that is down is left out and reported, or thrown", async () => {
    const server = await startNotebookServer();
    const down = await startNotebookServer();
    down.intercept((_, response) => sendText(response, 502));
    const application = startApplication({ notes: notebook(server), down: notebook(down) });
    await application.step({}, async (registry) => {
      const tools = await loadSessionTools(registry);
      expect(new Set(tools.map(({ name }) => name.split("__")[0]))).toEqual(new Set(["notes"]));
      expect(application.events).toContainEqual(
        expect.objectContaining({ type: "unavailable", connection: "down" }),
      );
      const error = await failureOf(loadSessionTools(registry, { onUnavailable: "throw" }));
      expect(error).toMatchObject({
        code: "CONNECTION_UNAVAILABLE",
        data: { connection: "down", status: 502 },
      });
    });
  });

  test("a server without tools has none", async () => {
    const { application } = await startNotes({}, { setUp: () => undefined });
    await application.step({}, async (registry) => {
      expect(await loadSessionTools(registry, { onUnavailable: "throw" })).toEqual([]);
    });
  });

  test("timeouts.callMs ends a call with OUTCOME_UNKNOWN", async () => {
    const { server, application } = await startNotes({ timeouts: { callMs: 100 } });
    await application.step({}, async (registry) => {
      const tools = await loadSessionTools(registry);
      const { name, message, cause } = await failureOf(call(tools, "notes__wait"));
      expect({ name, code: cause.code, connection: cause.data.connection }).toEqual({
        name: "ToolException",
        code: "OUTCOME_UNKNOWN",
        connection: "notes",
      });
      expect(message).toMatch(/^Error calling tool wait: McpSessionError: .*100 ms/);
      // The server was told.
      await expect.poll(() => server.waits).toEqual(["started", "aborted"]);
    });
  });

  test("headers and tokens go with every request", async () => {
    const { server, application } = await startNotes({
      auth: { getToken: () => ({ token: "secret-token" }) },
      headers: { "x-tenant": "a" },
    });
    await application.step({}, async (registry) => {
      await call(await loadSessionTools(registry), "notes__list_notes");
    });
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ authorization: "Bearer secret-token", "x-tenant": "a" });
    }
  });
});

describe("errors", () => {
  test("say their code in the cause of the adapter's error", async () => {
    const { server, application } = await startNotes({
      session: { mode: "stateful", onLoss: "report" },
    });
    await application.step({}, async (registry) => {
      const tools = await loadSessionTools(registry);
      server.forgetSessions();
      const error = await failureOf(call(tools, "notes__add_note", { text: "a" }));
      expect(error.name).toBe("ToolException");
      expect(McpSessionError.isInstance(error.cause)).toBe(true);
      expect(error.cause.code).toBe("SESSION_LOST");
      expect(error.message).toBe(`Error calling tool add_note: ${String(error.cause)}`);
      for (const id of server.sessionIds)
        expect(JSON.stringify([error, error.message])).not.toContain(id);
    });
  });

  test("an answer that broke off is OUTCOME_UNKNOWN, and nothing is sent twice", async () => {
    const { server, application } = await startNotes();
    await application.step({}, async (registry) => {
      const tools = await loadSessionTools(registry);
      server.requests.length = 0;
      server.intercept(
        on("tools/call", (_, response) => {
          response.writeHead(200, { "content-type": "text/event-stream" });
          response.write(": working\n\n");
          setTimeout(() => response.destroy(), 20);
        }),
      );
      const { cause } = await failureOf(call(tools, "notes__add_note", { text: "a" }));
      expect(cause).toHaveProperty("code", "OUTCOME_UNKNOWN");
      expect(server.log).toEqual(["POST tools/call"]);
    });
  });

  test("a server's refusal keeps its status", async () => {
    const { server, application } = await startNotes();
    await application.step({}, async (registry) => {
      const tools = await loadSessionTools(registry);
      server.intercept(
        on("tools/call", (_, response) => sendJson(response, 403, { error: "Not for you." })),
      );
      const { name, message } = await failureOf(call(tools, "notes__list_notes"));
      expect(name).toBe("ToolException");
      expect(message).toContain("Not for you.");
    });
  });
});

describe("after a lost session was replaced", () => {
  test("the next result begins with the note, and only that one", async () => {
    const { server, application, session } = await startSaved();
    server.forgetSessions();
    await application.step(session, async (registry) => {
      const tools = await loadSessionTools(registry);
      const first = await call(tools, "notes__add_note", { text: "a" });
      expect(first.content).toMatch(/^Note: .* is gone; .*\n\n1 notes$/);
      expect(first.artifact).toEqual([
        { type: "mcp_meta", data: { "durable-mcp/sessionReplaced": true } },
      ]);
      expect(await call(tools, "notes__list_notes")).toMatchObject({ content: "a", artifact: [] });
    });
  });

  test("an error of the tool says so, too", async () => {
    const { server, application, session } = await startSaved();
    server.forgetSessions();
    await application.step(session, async (registry) => {
      const tools = await loadSessionTools(registry);
      const { message } = await failureOf(call(tools, "notes__fail"));
      expect(message).toMatch(/returned an error: Note: .* is gone; .*\nThe pencil broke\.$/);
      expect(await call(tools, "notes__list_notes")).toMatchObject({ content: "" });
    });
  });

  test("a definition may say something else, or nothing to the model", async () => {
    for (const lossNotice of ["All is lost.", false] as const) {
      const { server, application } = await startNotes({
        session: { mode: "stateful", lossNotice },
      });
      await application.step({}, async (registry) => {
        const tools = await loadSessionTools(registry);
        server.forgetSessions();
        const { content, artifact } = await call(tools, "notes__add_note", { text: "a" });
        expect(content).toBe(lossNotice === false ? "1 notes" : "All is lost.\n\n1 notes");
        expect(artifact).toMatchObject([{ type: "mcp_meta" }]);
      });
    }
  });
});

describe("through the connection's own client", () => {
  test("a server that asks back", async () => {
    const server = await startNotebookServer({
      setUp: (mcp) => {
        mcp.registerTool("ask", {}, async () => {
          const answer = await mcp.server.elicitInput({
            message: "Your name?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } } },
          });
          return { content: [{ type: "text", text: String(answer.content?.["name"]) }] };
        });
      },
    });
    const application = startApplication({
      notes: notes(server, {
        onElicitation: () => ({ action: "accept", content: { name: "Ada" } }),
      }),
    });
    await application.step({}, async (registry) => {
      const tools = await loadSessionTools(registry);
      expect(await call(tools, "notes__ask")).toMatchObject({ content: "Ada" });
    });
  });
});

test("metadata of a server's result are artifacts, and never what the model reads", async () => {
  const server = await startNotebookServer({
    setUp(mcp) {
      const result = {
        content: [{ type: "text" as const, text: "Done." }],
        _meta: { trace: "t-1" },
      };
      mcp.registerTool("plain", {}, () => result);
      const outputSchema = { a: z.number() };
      mcp.registerTool("shaped", { outputSchema }, () => ({
        ...result,
        structuredContent: { a: 1 },
      }));
    },
  });
  const meta = { type: "mcp_meta", data: { trace: "t-1" } };
  for (const useStandardContentBlocks of [false, true]) {
    const application = startApplication({ notes: notes(server) });
    await application.step({}, async (registry) => {
      const tools = await loadSessionTools(registry, { useStandardContentBlocks });
      const plain = await call(tools, "notes__plain");
      expect(plain).toMatchObject({ content: "Done.", artifact: [meta] });
      const shaped = await call(tools, "notes__shaped");
      expect(JSON.stringify(shaped.content)).toContain("structuredContent");
      expect(JSON.stringify(shaped.content)).not.toContain("t-1");
      expect(shaped.artifact).toContainEqual(meta);
    });
  }
});

test("a tool that is called after its run, and a session that nobody keeps, are events", async () => {
  const { application } = await startNotes({ session: undefined });
  let tools: DynamicStructuredTool[] = [];
  await application.step({}, async (registry) => {
    tools = await loadSessionTools(registry);
    await call(tools, "notes__list_notes");
  });
  await failureOf(call(tools, "notes__list_notes"));
  expect(application.events).toEqual([
    { type: "session-unused", connection: "notes" },
    { type: "used-after-run", connection: "notes" },
  ]);
});
