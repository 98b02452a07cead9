import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { type ConformanceClientKind, filledForm, textOf } from "./conformance-client.ts";

/** `@modelcontextprotocol/client` 2 as it comes: `initialize`, no probe. */
export const client2Client: ConformanceClientKind = {
  create({ url, fetch, authProvider, elicitation }) {
    const client = new Client(
      { name: "durable-mcp", version: "1.0.0" },
      { capabilities: { ...(elicitation && { elicitation: {} }) } },
    );
    if (elicitation) {
      client.setRequestHandler("elicitation/create", ({ params }) => ({
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
      finishAuthorization: (callback) => transport.finishAuth(callback),
      close: () => client.close(),
    };
  },
};
