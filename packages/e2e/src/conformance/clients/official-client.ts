import { type ConformanceClient, filledForm, textOf } from "./conformance-client.ts";

/** How both official clients are told apart, and what they declare. */
export const clientInfo = { name: "durable-mcp", version: "1.0.0" };
export const declared = (elicitation: boolean) => ({
  capabilities: { ...(elicitation && { elicitation: {} }) },
});

/** Answers a server's question with the form as it is filled in advance. */
export const acceptForm = ({ params }: { params: object }) => ({
  action: "accept" as const,
  content: "requestedSchema" in params ? filledForm(params.requestedSchema) : {},
});

/** What the official clients have in common; they do not share types. */
export function officialClient<TRANSPORT>(
  client: {
    connect: (transport: TRANSPORT) => Promise<void>;
    listTools: () => Promise<{ tools: { name: string; inputSchema: unknown }[] }>;
    callTool: (call: { name: string; arguments: Record<string, unknown> }) => Promise<unknown>;
    close: () => Promise<void>;
  },
  transport: TRANSPORT,
): Omit<ConformanceClient, "finishAuthorization"> {
  return {
    connect: () => client.connect(transport),
    listTools: async () => (await client.listTools()).tools,
    callTool: async (name, args) => textOf(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
}
