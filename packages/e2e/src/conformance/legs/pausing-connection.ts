import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import type { ToolSet } from "ai";
import { openConversation } from "./conversation.ts";
import { type Called, calledOf, type OpenLegClient } from "./leg-client.ts";
import { readFirst } from "../../clients/own-client.ts";

/**
 * A connection of `@durable-mcp/ai-sdk` with `waiting`. Its calls wait in the store of the durable sessions, and the
 * conversation lies beside it, as JSON: a result takes the place that a waiting call has in there.
 */
export const openPausingConnection: OpenLegClient = async ({
  url,
  storePath,
  session,
  afterMs,
}) => {
  const store = createSqliteStore({ path: storePath });
  const conversation = openConversation(`${storePath}.messages.json`);
  const description = "The suite's server.";
  const sessions = createDurableSessions({
    connections: {
      suite: defineMcpClientConnection({ url, description, session, waiting: { afterMs } }),
    },
    store,
  });
  const owner = { principal: { type: "app" } } as const;
  let opening: ReturnType<typeof sessions.open> | undefined;
  const opened = () => (opening ??= sessions.open("suite", owner));
  const client = async () => (await opened()).client("suite");
  /** Puts the result of a call into the messages, if it is over. */
  const land = async (call: WaitingCall): Promise<Called> => {
    if (call.state === "waiting") return { waiting: call };
    if (call.state !== "settled") throw new Error(`the answered call is ${call.state}`);
    const run = await opened();
    const { messages, resumed } = await run.waiting.resume(conversation.messages(), {
      tools: await run.tools(),
    });
    conversation.replace(messages);
    if (resumed.length !== 1) throw new Error(`${resumed.length} calls were resumed`);
    return { text: conversation.textOf(call.toolCallId!) };
  };
  return {
    listTools: async () => (await (await client()).listTools()).tools,
    async callTool(name, args) {
      const toolName = `suite__${name}`;
      const registry = await opened();
      const { [toolName]: tool }: ToolSet = await registry.tools({ onUnavailable: "throw" });
      if (tool?.execute === undefined) throw new Error(`the server has no tool named ${name}`);
      const call = { toolCallId: name, toolName, input: args };
      const output: unknown = await tool.execute(args, {
        ...call,
        messages: [],
        context: undefined,
      });
      conversation.add(call, await tool.toModelOutput!({ ...call, output }));
      return calledOf(output);
    },
    async waiting() {
      const entries = await sessions.waiting("suite", owner);
      return entries.filter((entry) => entry.type !== "sign-in");
    },
    answer: async (id, responses) => land(await sessions.answer("suite", id, responses, owner)),
    async check(id) {
      const before = await sessions.waiting("suite", owner);
      const looked = await sessions.check("suite", owner);
      const call = [...looked, ...before].find((each) => each.id === id);
      return await land(call as WaitingCall);
    },
    readFirst: async () => readFirst(await client()),
    async close() {
      await (await opening)?.dispose();
      await sessions.shutdown();
      await store.close();
    },
  };
};
