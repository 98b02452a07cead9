/** `approval` of a definition, with the agent loops of AI SDK 7 and 6. */
import { createMemoryStore } from "@durable-mcp/core";
import { generateText, isStepCount, type ModelMessage, type ToolSet } from "ai";
import {
  generateText as generateText6,
  type ModelMessage as ModelMessage6,
  stepCountIs,
  type ToolSet as ToolSet6,
} from "ai-6";
import { MockLanguageModelV3 } from "ai-6/test";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  answer,
  type NotebookServer,
  startNotebookServer,
} from "../../../sessions/test/notebook-server.ts";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { alice } from "../step.ts";
import { createDurableAgent } from "../../src/agent/durable-agent.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";
import type {
  ToolApprovalCall,
  ToolApprovalStatus,
  ToolCallOptions,
} from "../../../sessions/src/declare/tool-options.ts";

const use = { principal: alice };
const addMilk = { tool: "notes__add_note", input: { text: "milk" } };
const request: ModelMessage[] = [{ role: "user", content: "Note milk." }];
const store = createMemoryStore();
const connectionsOf = (server: NotebookServer, approval: ToolCallOptions["approval"]) => ({
  notes: defineMcpClientConnection({
    ...{ url: server.url, description: "A notebook.", session: "stateful", approval },
  }),
});
/** As another process would make it. */
const openSessions = (server: NotebookServer, approval: ToolCallOptions["approval"]) =>
  createDurableSessions({ connections: connectionsOf(server, approval), store });

const toolCall6 = {
  ...{ type: "tool-call" as const, toolCallId: "call-0-0", toolName: addMilk.tool },
  input: JSON.stringify(addMilk.input),
};
const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};
const turn6 = (call?: typeof toolCall6) => ({
  content: [call ?? { type: "text" as const, text: "done" }],
  finishReason: { unified: call ? ("tool-calls" as const) : ("stop" as const), raw: undefined },
  ...{ usage, warnings: [] },
});

/** A turn of each release: the messages that the model and the tools added, and the last step's content. */
const releases = {
  async "7"(tools: ToolSet, messages: ModelMessage[], calls: boolean) {
    const model = calls ? scriptedModel([addMilk], "done") : scriptedModel("done");
    const stopWhen = isStepCount(3);
    const { responseMessages, content } = await generateText({ model, tools, messages, stopWhen });
    return { messages: responseMessages, content: content as { type: string }[] };
  },
  async "6"(tools: ToolSet, messages: ModelMessage[], calls: boolean) {
    const { response, content } = await generateText6({
      model: new MockLanguageModelV3({
        doGenerate: calls ? [turn6(toolCall6), turn6()] : [turn6()],
      }),
      tools: tools as ToolSet6,
      messages: messages as ModelMessage6[],
      stopWhen: stepCountIs(3),
    });
    return {
      messages: response.messages as ModelMessage[],
      content: content as { type: string }[],
    };
  },
};

const answerOf = (content: readonly { type: string }[], approved: boolean): ModelMessage => {
  const asked = content.find(({ type }) => type === "tool-approval-request") as any;
  const { approvalId } = asked;
  return { role: "tool", content: [{ type: "tool-approval-response", approvalId, approved }] };
};

describe.each(["7", "6"] as const)("with AI SDK %s", (release) => {
  const turn = releases[release];

  test("an approved call runs in the step of another process, with one request", async () => {
    const server = await startNotebookServer();
    const asked: ToolApprovalCall[] = [];
    const approval = (call: ToolApprovalCall): ToolApprovalStatus => {
      asked.push(call);
      return call.tool === "add_note" && call.principal?.type === "user" && "user-approval";
    };
    const id = `approved-${release}`;
    const first = await openSessions(server, approval).run(id, use, async (run) =>
      turn(await run.tools(), request, true),
    );
    expect(first.content.map(({ type }) => type)).toContain("tool-approval-request");
    expect(server.log).not.toContain("POST tools/call");
    expect(asked[0]).toMatchObject({
      ...{ principal: alice, connection: "notes", tool: "add_note", toolName: addMilk.tool },
      ...{ toolInput: { text: "milk" }, callId: "call-0-0" },
    });

    server.requests.length = 0;
    const messages = [...request, ...first.messages, answerOf(first.content, true)];
    const second = await openSessions(server, approval).run(id, use, async (run) =>
      turn(await run.tools(), messages, false),
    );
    expect(server.log).toEqual(["POST tools/call"]);
    expect(JSON.stringify(second.messages)).toContain("1 notes");
  });

  test("a refused call does not run", async () => {
    const server = await startNotebookServer();
    const id = `refused-${release}`;
    const sessions = openSessions(server, true);
    const first = await sessions.run(id, use, async (run) =>
      turn(await run.tools(), request, true),
    );
    server.requests.length = 0;
    const messages = [...request, ...first.messages, answerOf(first.content, false)];
    await sessions.run(id, use, async (run) => turn(await run.tools(), messages, false));
    expect(server.log).toEqual([]);
  });

  test.each<[string, ToolApprovalStatus, string]>([
    ["a call that is denied", "denied", "The application denied this call."],
    ["with a reason", { type: "denied", reason: "Not at night." }, "Not at night."],
  ])("tells the model of %s, and sends nothing", async (_, status, reason) => {
    const server = await startNotebookServer();
    const sessions = openSessions(server, () => Promise.resolve(status));
    const id = `denied-${release}-${reason}`;
    const { messages } = await sessions.run(id, use, async (run) =>
      turn(await run.tools(), request, true),
    );
    expect(JSON.stringify(messages)).toContain(reason);
    expect(server.log).not.toContain("POST tools/call");
  });

  test.each<[string, ToolCallOptions["approval"]]>([
    ["undefined", undefined],
    ["false", false],
    ["a function that returns false", () => false],
    ["a function that approves", () => "approved"],
  ])("a call runs at once with %s", async (what, approval) => {
    const server = await startNotebookServer();
    const sessions = openSessions(server, approval);
    const { messages } = await sessions.run(`${what}-${release}`, use, async (run) =>
      turn(await run.tools(), request, true),
    );
    expect(JSON.stringify(messages)).toContain("1 notes");
  });
});

test.each<[string, unknown]>([
  ["a misspelt status", "user_approval"],
  ["a misspelt type", { type: "deny" }],
  ["null", null],
  ["an empty text", ""],
])("%s is an error, and the call does not run", async (what, status) => {
  const server = await startNotebookServer();
  const sessions = openSessions(server, () => status as ToolApprovalStatus);
  const calling = sessions.run(what, use, async (run) => {
    const { needsApproval, execute } = (await run.tools())[addMilk.tool]!;
    const call = { toolCallId: "call-1", messages: [], context: {} };
    return Promise.allSettled([
      (needsApproval as any)(addMilk.input, call),
      Promise.resolve(execute!(addMilk.input, call)),
    ]);
  });
  const error = { code: "CONNECTION_INVALID", data: { field: "approval", connection: "notes" } };
  const rejected = { status: "rejected", reason: error };
  expect(await calling).toMatchObject([rejected, rejected]);
  expect(server.log).not.toContain("POST tools/call");
});

test("toolApproval of AI SDK 7 comes before the definition's", async () => {
  const server = await startNotebookServer();
  const sessions = openSessions(server, true);
  const { text } = await sessions.run("call", use, async (run) =>
    generateText({
      model: scriptedModel([addMilk], "done"),
      ...{ tools: await run.tools(), messages: request, stopWhen: isStepCount(3) },
      toolApproval: { [addMilk.tool]: "approved" },
    }),
  );
  expect(text).toBe("done");
  expect(server.log).toContain("POST tools/call");
});

const isNoReading = ({ toolAnnotations }: ToolApprovalCall) =>
  toolAnnotations?.["readOnlyHint"] !== true;

test("the policy sees the server's annotations", async () => {
  const server = await startNotebookServer({
    setUp(mcp) {
      const annotations = { readOnlyHint: true };
      mcp.registerTool("list_notes", { annotations }, () => answer("none"));
      mcp.registerTool("add_note", {}, () => answer("1 notes"));
    },
  });
  const asks = await openSessions(server, isNoReading).run("hints", use, async (run) => {
    const tools = await run.tools();
    const ask = async (name: string) =>
      (tools[name]!.needsApproval as any)({}, { toolCallId: "call-1", messages: [] }) as boolean;
    return [await ask("notes__list_notes"), await ask("notes__add_note")];
  });
  expect(asks).toEqual([false, true]);
});

/** A server whose tool `clean` has other annotations, or words, in sessions that begin later. */
async function startChanging() {
  const cleaned: unknown[] = [];
  const tool = { annotations: { readOnlyHint: true }, description: "Looks for dirt." };
  const server = await startNotebookServer({
    setUp: (mcp) => {
      mcp.registerTool("clean", { ...tool, inputSchema: { what: z.string() } }, ({ what }) => {
        cleaned.push(what);
        return answer("clean");
      });
    },
  });
  return {
    ...{ server, cleaned },
    lose: (changed: Partial<typeof tool>) => {
      Object.assign(tool, changed);
      server.forgetSessions();
    },
  };
}

describe("a tool that has changed in the session that replaces a lost one", () => {
  const each = { toolCallId: "call-1", messages: [], context: {} };
  const what = { what: "the disk" };
  const clean = async (tools: ToolSet) => await tools["notes__clean"]!.execute!(what, each);
  const asks = async (tools: ToolSet) =>
    await (tools["notes__clean"]!.needsApproval as any)(what, each);

  test("is not called again without an approval, in this step or a later one", async () => {
    const { server, cleaned, lose } = await startChanging();
    const connections = connectionsOf(server, isNoReading);
    const sessions = createDurableSessions({ connections, store });
    await sessions.run("chat", use, (run) => run.tools());
    await sessions.run("chat", use, async (run) => {
      const tools = await run.tools();
      expect(await asks(tools)).toBe(false);
      lose({ annotations: { readOnlyHint: false } });
      for (let times = 0; times < 2; times += 1) {
        expect(await clean(tools)).toMatchObject({
          isError: true,
          content: [{ text: expect.stringContaining("a person has to approve the call now") }],
        });
      }
      expect(cleaned).toEqual([]);
      expect(await asks(tools)).toBe(true);
    });
    await sessions.run("chat", use, async (run) => {
      const tools = await run.tools();
      expect(await asks(tools)).toBe(true);
      // Somebody has approved it.
      expect(await clean(tools)).toMatchObject({ content: [{ text: "clean" }] });
    });
    expect(cleaned).toEqual(["the disk"]);
  });

  test.each<[string, ToolCallOptions["approval"], object]>([
    ["in its words alone", isNoReading, { description: "Looks again." }],
    ["as the policy allows", () => "approved", { annotations: { readOnlyHint: false } }],
    ["without a policy", undefined, { annotations: { readOnlyHint: false } }],
    ["where every call is approved", true, { annotations: { readOnlyHint: false } }],
  ])("is called again %s", async (how, approval, changed) => {
    const { server, cleaned, lose } = await startChanging();
    await openSessions(server, approval).run(how, use, async (run) => {
      const tools = await run.tools();
      lose(changed);
      expect(await clean(tools)).toMatchObject({ content: [{ text: "clean" }] });
    });
    expect(cleaned).toEqual(["the disk"]);
  });

  test("is not called again if the policy denies it now, or fails", async () => {
    const outcomes: [() => ToolApprovalStatus, string][] = [
      [() => ({ type: "denied", reason: "Not that." }), "Not that."],
      [() => "no status" as ToolApprovalStatus, "a person has to approve the call now"],
    ];
    for (const [decide, text] of outcomes) {
      const { server, cleaned, lose } = await startChanging();
      const approval = (call: ToolApprovalCall) => isNoReading(call) && decide();
      await openSessions(server, approval).run(`denied ${text}`, use, async (run) => {
        const tools = await run.tools();
        lose({ annotations: { readOnlyHint: false } });
        expect(JSON.stringify(await clean(tools))).toContain(text);
      });
      expect(cleaned).toEqual([]);
    }
  });
});

test("a durable agent goes on after the approval in another process, with one request", async () => {
  const server = await startNotebookServer();
  const options = { sessionId: "agent", principal: alice };
  const connections = connectionsOf(server, true);
  const agentOf = (model: ReturnType<typeof scriptedModel>) =>
    createDurableAgent({ connections, store, model });
  const agent = agentOf(scriptedModel([addMilk]));
  const first = await agent.generate({ messages: request, options });
  await agent.sessions.shutdown();
  server.requests.length = 0;
  const messages = [...request, ...first.responseMessages, answerOf(first.content, true)];
  const { text } = await agentOf(scriptedModel("done")).generate({ messages, options });
  expect(text).toBe("done");
  expect(server.log).toEqual(["POST tools/call"]);
});
