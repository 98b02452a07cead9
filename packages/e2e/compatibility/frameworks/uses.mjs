/**
 * How a test calls a tool on what each of `clients` makes, as an agent of the framework does.
 * @voltagent/core 2.10.0 is not here: it makes its transport itself, and takes no `fetch`.
 */
import { genkit } from "genkit";
import { disableGenkitOTelInitialization } from "genkit/tracing";

// It would take the process's spans and its SIGTERM.
disableGenkitOTelInitialization();

const throwIfError = (result) => {
  if (result?.isError || result?.error) throw new Error(JSON.stringify(result));
  return result;
};
const named = (tools, name) => tools.find((tool) => tool.name === name);

export const uses = {
  "openai-agents": (shop) => ({
    call: (name, input) => shop.callTool(name, input),
    close: () => shop.close(),
  }),
  strands: (client) => ({
    call: async (name, input) =>
      throwIfError(await client.callTool(named(await client.listTools(), name), input)),
    close: () => client.disconnect(),
  }),
  /** It makes a client for each call. */
  adk: (toolset) => ({
    call: async (name, args) =>
      throwIfError(await named(await toolset.getTools(), name).runAsync({ args, toolContext: {} })),
    close: () => toolset.close(),
  }),
  genkit: (client) => ({
    async call(name, input) {
      const tools = await client.getActiveTools(genkit({}));
      return throwIfError(await tools.find(({ __action }) => __action.name.endsWith(name))(input));
    },
    close: () => client.disable(),
  }),
  "tanstack-ai": (client) => ({
    call: async (name, input) =>
      throwIfError(await named(await client.tools(), name).execute(input)),
    close: () => client.close(),
  }),
  mastra: (client) => ({
    call: async (name, input) =>
      throwIfError(await (await client.listTools())[`shop_${name}`].execute(input, {})),
    close: () => client.disconnect(),
  }),
  "ai-sdk"(client) {
    let tools;
    return {
      async call(name, input) {
        tools ??= await client.tools();
        return throwIfError(await tools[name].execute(input, { toolCallId: "1", messages: [] }));
      },
      close: () => client.close(),
    };
  },
  "sdk-1": (client) => ({
    call: async (name, input) =>
      throwIfError(
        await client.callTool({ name, arguments: input }, undefined, { timeout: 300_000 }),
      ),
    close: () => client.close(),
  }),
  "client-2": (client) => ({
    call: async (name, input) =>
      throwIfError(await client.callTool({ name, arguments: input }, { timeout: 300_000 })),
    close: () => client.close(),
  }),
};
