import type { MCPClient } from "@ai-sdk/mcp";
import { inSlotKey, invalid, listPages, uniqueTools } from "@durable-mcp/core/internal";
import type { McpClient } from "@durable-mcp/sessions";
import type { LiveConnection } from "@durable-mcp/sessions/internal";

/**
 * The client, which makes the tools.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` for one of another package
 */
export function ownClient(client: McpClient, connection: string): MCPClient {
  if ("toolsFromDefinitions" in client) return client as MCPClient;
  const fix = "Its clients make no tools of AI SDK. Declare it with @durable-mcp/ai-sdk.";
  throw invalid("connections", `Connection ${connection} is of another package. ${fix}`);
}

/** All tools of the server: those in the connection's slot, if it has listed them, so that nobody parses them again. */
export async function listAllTools(
  client: MCPClient,
  { name, listedTools, emit }: LiveConnection,
  signal: AbortSignal,
): Promise<Definitions> {
  const list = async (mark?: { readonly _meta: Record<string, unknown> }) =>
    await listPages(
      (cursor) => {
        const params = { ...mark, ...(cursor !== undefined && { cursor }) };
        return client.listTools({
          ...((mark ?? cursor) !== undefined && { params }),
          options: { signal },
        });
      },
      () => emit({ type: "list-cut", connection: name, method: "tools/list" }),
    );
  const pages = await list(listedTools?.() && { _meta: { [inSlotKey]: true } });
  const left = pages.filter(({ _meta }) => _meta?.[inSlotKey] === true);
  const inSlot = left.length === pages.length ? listedTools?.()?.tools : undefined;
  if (inSlot) return inSlot as Definitions;
  // The session was lost while it listed.
  const whole = left.length > 0 ? await list() : pages;
  return uniqueTools(whole.flatMap(({ tools }) => tools));
}

type Definitions = Parameters<MCPClient["toolsFromDefinitions"]>[0]["tools"];
