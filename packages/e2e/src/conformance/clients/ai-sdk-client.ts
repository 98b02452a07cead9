import { auth, createMCPClient, ElicitationRequestSchema, type MCPClient } from "@ai-sdk/mcp";
import { type ConformanceClientKind, filledForm, textOf } from "./conformance-client.ts";

type Execute = (
  args: Record<string, unknown>,
  options: { toolCallId: string; messages: [] },
) => Promise<unknown>;

/** `@ai-sdk/mcp` 2, used as an agent does: `tools()`, then `execute`. */
export const aiSdkClient: ConformanceClientKind = {
  create({ url, fetch, authProvider, elicitation }) {
    let client: MCPClient | undefined;
    const connected = () => {
      if (client === undefined) throw new Error("not connected");
      return client;
    };
    return {
      async connect() {
        client = await createMCPClient({
          transport: { type: "http", url, authProvider, ...(fetch && { fetch }) },
          ...(elicitation && { capabilities: { elicitation: {} } }),
        });
        if (!elicitation) return;
        client.onElicitationRequest(ElicitationRequestSchema, ({ params }) => ({
          action: "accept",
          content: filledForm(params.requestedSchema),
        }));
      },
      listTools: async () => (await connected().listTools()).tools,
      async callTool(name, args) {
        const execute = (await connected().tools())[name]?.execute as Execute | undefined;
        if (execute === undefined) throw new Error(`the server has no tool named ${name}`);
        return textOf(await execute(args, { toolCallId: name, messages: [] }));
      },
      async finishAuthorization(callback) {
        const [code, state, iss] = ["code", "state", "iss"].map((name) => callback.get(name));
        await auth(authProvider, {
          serverUrl: url,
          authorizationCode: code ?? "",
          ...(state != null && { callbackState: state }),
          ...(iss != null && { callbackIssuer: iss }),
          ...(fetch && { fetchFn: fetch }),
        });
      },
      close: async () => client?.close(),
    };
  },
};
