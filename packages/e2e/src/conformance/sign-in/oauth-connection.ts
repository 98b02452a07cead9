import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import type { ToolSet } from "ai";
import { calledOf } from "../legs/leg-client.ts";
import { openConversation } from "../legs/conversation.ts";
import type { OpenSignInClient } from "./sign-in-client.ts";

const sessionId = "suite";
const connection = "suite";
const prefix = `${connection}__`;

/**
 * A connection of `@durable-mcp/ai-sdk` with `auth`, in durable sessions. A call that the server refused waits in
 * their store, and the conversation lies beside it, as JSON: after the sign-in the call's result takes its place there.
 */
export const openOAuthConnection: OpenSignInClient = async ({
  url,
  principal,
  oauth,
  store,
  storePath,
}) => {
  const conversation = openConversation(`${storePath}.messages.json`);
  const description = "The suite's server.";
  const sessions = createDurableSessions({
    connections: {
      [connection]: defineMcpClientConnection({
        ...{ url, description, session: "stateful", auth: oauth },
      }),
    },
    store,
  });
  const owner = { principal };
  let opening: ReturnType<typeof sessions.open> | undefined;
  const opened = () => (opening ??= sessions.open(sessionId, owner));
  const tools = async (): Promise<ToolSet> => (await opened()).tools({ onUnavailable: "throw" });
  return {
    listTools: async () => Object.keys(await tools()).map((name) => name.slice(prefix.length)),
    async callTool(name) {
      const [left] = (await sessions.waiting(sessionId, owner)).filter(({ id }) => id);
      if (left?.id !== undefined) {
        const { waiting } = await opened();
        const { messages, resumed } = await waiting.resume(conversation.messages(), {
          tools: await tools(),
        });
        conversation.replace(messages);
        if (resumed.length !== 1) throw new Error(`${resumed.length} calls were resumed`);
        return { text: conversation.textOf(left.toolCallId!) };
      }
      const toolName = prefix + name;
      const { [toolName]: tool } = await tools();
      if (tool?.execute === undefined) throw new Error(`the server has no tool named ${name}`);
      const call = { toolCallId: name, toolName, input: {} };
      const options = { ...call, messages: [], context: undefined };
      const output: unknown = await tool.execute({}, options);
      conversation.add(call, await tool.toModelOutput!({ ...call, output }));
      return calledOf(output);
    },
    async startUrl() {
      const [first] = await sessions.waiting(sessionId, owner);
      return first?.id === undefined ? first?.startUrl : undefined;
    },
    async close() {
      await (await opening)?.dispose();
      await sessions.shutdown();
    },
  };
};
