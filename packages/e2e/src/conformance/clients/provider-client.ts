import { auth } from "@ai-sdk/mcp";
import { createConnectionProvider, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { filledForm, type OwnClientOptions } from "../../clients/own-client.ts";
import { type ConformanceClient, vouchingFetch } from "./conformance-client.ts";

/** A connection of `@durable-mcp/ai-sdk`: a run for each client, `session.state` in between. */
export const providerClient = {
  hasOwnFetch: true,
  create({
    url,
    authProvider,
    acceptsForms,
    saved,
  }: OwnClientOptions & { saved: unknown }): ConformanceClient {
    const provider = createConnectionProvider({
      connections: {
        suite: defineMcpClientConnection({
          url,
          description: "The suite's server.",
          session: "stateful",
          authProvider: authProvider!,
          fetch: vouchingFetch,
          ...(acceptsForms && {
            onElicitation: ({ params }) => ({
              action: "accept",
              content: filledForm(params.requestedSchema),
            }),
          }),
        }),
      },
    });
    const session = { state: saved };
    const registry = provider.create({ state: session.state, principal: { type: "app" } });
    return {
      connect: async () => void (await registry.client("suite")),
      listTools: async () => (await (await registry.client("suite")).listTools()).tools,
      async callTool(name, args) {
        const tools = await registry.tools({ onUnavailable: "throw" });
        const tool = tools[`suite__${name}`];
        if (tool?.execute === undefined) throw new Error(`the server has no tool named ${name}`);
        const options = { toolCallId: name, messages: [], context: undefined };
        return await tool.execute(args, options as never);
      },
      async finishAuthorization(callback) {
        const [code, iss] = ["code", "iss"].map((name) => callback.get(name));
        await auth(authProvider!, {
          serverUrl: url,
          authorizationCode: code ?? "",
          ...(iss != null && { callbackIssuer: iss }),
          fetchFn: vouchingFetch,
        });
      },
      close: () => registry.dispose(),
      saved: () => provider.commit(registry, session).state,
    };
  },
};
