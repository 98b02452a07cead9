import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { type ConformanceClientKind, filledForm, textOf } from "./conformance-client.ts";

/** `@modelcontextprotocol/sdk` 1. */
export const sdk1Client: ConformanceClientKind = {
  create({ url, fetch, authProvider, elicitation }) {
    const client = new Client(
      { name: "durable-mcp", version: "1.0.0" },
      { capabilities: { ...(elicitation && { elicitation: {} }) } },
    );
    if (elicitation) {
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
        action: "accept",
        content: "requestedSchema" in params ? filledForm(params.requestedSchema) : {},
      }));
    }
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      authProvider,
      ...(fetch && { fetch }),
    });
    return {
      connect: () => client.connect(transport),
      listTools: async () => (await client.listTools()).tools,
      callTool: async (name, args) => textOf(await client.callTool({ name, arguments: args })),
      finishAuthorization: (callback) => transport.finishAuth(callback.get("code") ?? ""),
      close: () => client.close(),
    };
  },
};
