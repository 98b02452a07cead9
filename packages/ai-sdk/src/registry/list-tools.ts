import { authorizationRequired } from "../errors/connection-error.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { connectionTools } from "../tools/connection-tools.ts";
import type { ConnectionSet } from "../tools/same-names.ts";
import { standInTool } from "../tools/stand-in-tool.ts";
import { isRequired } from "./ask-required.ts";

/**
 * The tools of a connection. While its user has to sign in, and the step goes on without it, there is a stand-in.
 *
 * @throws the reason why there is no tool
 */
export async function listTools(
  connection: LiveConnection,
  onUnavailable: "omit" | "throw",
): Promise<ConnectionSet> {
  const { name, signIn } = connection;
  try {
    return { connection: name, tools: await connectionTools(connection) };
  } catch (error) {
    const isOmitted = onUnavailable === "omit" && !isRequired(connection);
    const required = authorizationRequired(error, name);
    if (!isOmitted || signIn === undefined || required === undefined) throw error;
    connection.tell(required);
    return { connection: name, tools: await standInTool(connection, required), isDown: true };
  }
}
