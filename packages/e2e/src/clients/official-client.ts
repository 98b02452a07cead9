import { filledForm, type OwnClient, readFirst } from "./own-client.ts";

/** How the official clients are told apart. */
export const clientInfo = { name: "durable-mcp", version: "1.0.0" };

/** Answers a server's question with the form as it is filled in advance. */
export const acceptForm = ({ params }: { params: object }) => ({
  action: "accept" as const,
  content: "requestedSchema" in params ? filledForm(params.requestedSchema) : {},
});

/** What the official clients have in common; they do not share types. */
export function officialClient<TRANSPORT>(
  client: Parameters<typeof readFirst>[0] & {
    connect: (transport: TRANSPORT) => Promise<void>;
    listTools: () => Promise<{ tools: { name: string; inputSchema: unknown }[] }>;
    callTool: (call: { name: string; arguments: Record<string, unknown> }) => Promise<unknown>;
    close: () => Promise<void>;
  },
  transport: TRANSPORT,
): Omit<OwnClient, "finishAuthorization"> {
  return {
    connect: () => client.connect(transport),
    listTools: async () => (await client.listTools()).tools,
    callTool: (name, args) => client.callTool({ name, arguments: args }),
    readFirst: () => readFirst(client),
    close: () => client.close(),
  };
}
