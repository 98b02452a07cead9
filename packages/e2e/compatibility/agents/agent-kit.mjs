/** `node agent-kit.mjs <model> <server>`: an agent of Inngest's AgentKit, which takes no `fetch`. */
import { createAgent, createNetwork, openai } from "@inngest/agent-kit";

const [model, url] = process.argv.slice(2);
/** It makes Zod 3 schemas of the server's, which its Zod 4 cannot read: with them any tool of MCP ends the run. */
const withoutSchemas = ({ agent: { tools }, prompt, history }) => {
  for (const tool of tools.values()) tool.parameters = undefined;
  return { prompt, history: history ?? [], stop: false };
};
const agent = createAgent({
  ...{ name: "notebook", system: "Call the tools." },
  model: openai({ model: "scripted", apiKey: "none", baseUrl: `${model}/v1/` }),
  lifecycle: { onStart: withoutSchemas },
  mcpServers: [{ name: "notebook", transport: { type: "streamable-http", url } }],
});
let isDone = false;
const network = createNetwork({
  ...{ name: "one", agents: [agent], maxIter: 20 },
  router: ({ lastResult }) => {
    isDone ||= lastResult !== undefined && lastResult.toolCalls.length === 0;
    return isDone ? undefined : agent;
  },
});
await network.run("Go.");
process.exit();
