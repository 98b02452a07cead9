import type * as AiSdk from "@ai-sdk/mcp";
import { type CreateOwnClient, filledForm, readFirst } from "./own-client.ts";

type Execute = (
  args: Record<string, unknown>,
  options: { toolCallId: string; messages: [] },
) => Promise<unknown>;

/**
 * `@ai-sdk/mcp` of either version, used as an agent does: what `tools()` does, then `execute`. The tools are listed
 * once per connection, unless they are asked for.
 */
export function aiSdkClient({
  auth,
  createMCPClient,
  ElicitationRequestSchema,
}: typeof AiSdk): CreateOwnClient {
  return ({ url, fetch, capabilities, authProvider, acceptsForms }) => {
    let client: AiSdk.MCPClient | undefined;
    let listing: ReturnType<typeof listAll> | undefined;
    const connected = () => {
      if (client === undefined) throw new Error("not connected");
      return client;
    };
    return {
      async connect() {
        client = await createMCPClient({
          transport: {
            ...{ type: "http", url },
            ...(authProvider && { authProvider }),
            ...(fetch && { fetch }),
          },
          ...(capabilities && { capabilities }),
        });
        if (!acceptsForms) return;
        client.onElicitationRequest(ElicitationRequestSchema, ({ params }) => ({
          action: "accept",
          content: filledForm(params.requestedSchema),
        }));
      },
      listTools: async () => (await (listing = listAll(connected()))).tools,
      async callTool(name, args) {
        const listed = await (listing ??= listAll(connected()));
        const { [name]: tool } = connected().toolsFromDefinitions(listed);
        if (tool === undefined) throw new Error(`the server has no tool named ${name}`);
        return await (tool.execute as unknown as Execute)(args, { toolCallId: name, messages: [] });
      },
      readFirst: () => readFirst(connected()),
      async finishAuthorization(callback) {
        const [code, state, iss] = ["code", "state", "iss"].map((name) => callback.get(name));
        await auth(authProvider!, {
          serverUrl: url,
          authorizationCode: code ?? "",
          ...(state != null && { callbackState: state }),
          ...(iss != null && { callbackIssuer: iss }),
          ...(fetch && { fetchFn: fetch }),
        });
      },
      close: async () => client?.close(),
    };
  };
}

async function listAll(client: AiSdk.MCPClient) {
  let page = await client.listTools();
  const tools = [...page.tools];
  while (page.nextCursor != null) {
    page = await client.listTools({ params: { cursor: page.nextCursor } });
    tools.push(...page.tools);
  }
  return { ...page, tools };
}
