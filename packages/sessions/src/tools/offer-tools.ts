import type { UsedConnection } from "../connection/used-connection.ts";
import { listServerTools } from "./list-server-tools.ts";
import { createOfferedTool, mayWait, type OfferedParts } from "./create-offered-tool.ts";
import type { OfferedTool } from "./offered-tool.ts";
import { describeStandIn } from "./stand-in-words.ts";
import { followToolCalls } from "./tool-call-scope.ts";
import { plainToolName, toolName } from "./tool-name.ts";

/** Makes tools of a connection: of what is known of a server's, and the stand-in for all. */
interface MakeTools {
  tool(listed: OfferedParts["listed"]): Promise<OfferedTool>;
  standIn(): Promise<OfferedTool>;
}

/** Gives tools of a connection. */
export type ListTools = (connection: UsedConnection, make: MakeTools) => Promise<OfferedTool[]>;

export const createMakeTools = (connection: UsedConnection): MakeTools => ({
  async tool(listed) {
    const { name, definition } = connection;
    const own = await toolName(name, listed.name, definition.options);
    return createOfferedTool(connection, { listed, name: own });
  },
  standIn: () => offerStandIn(connection),
});

/** The tools that the connection's server lists. */
export async function offerTools(connection: UsedConnection): Promise<OfferedTool[]> {
  const { name, definition } = connection;
  const listed = await listServerTools(connection);
  if (mayWait(connection)) followToolCalls();
  const make = createMakeTools(connection);
  const offered: OfferedTool[] = [];
  // A server may have hundreds of tools, so nothing is awaited that is known at once.
  for (const tool of listed) {
    const plain = plainToolName(name, tool.name, definition.options);
    offered.push(
      plain === undefined
        ? await make.tool(tool)
        : createOfferedTool(connection, { name: plain, listed: tool }),
    );
  }
  return offered;
}

/**
 * The one tool of a connection whose user has to sign in before its server lists the others. With it the model can say
 * that it needs them, and its call waits for the sign-in.
 *
 * @param startUrl where the sign-in starts
 */
export async function offerStandIn(
  connection: UsedConnection,
  startUrl?: string,
): Promise<OfferedTool> {
  if (connection.signIn?.park) followToolCalls();
  const { tool: listed, toolName: name } = await describeStandIn(connection);
  return createOfferedTool(connection, { listed, name, isStandIn: true, startUrl });
}
