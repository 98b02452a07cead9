import type { UsedConnection } from "../connection/used-connection.ts";
import { toolName } from "./tool-name.ts";

/** The name of the stand-in, after the connection's prefix. */
const standInName = "sign_in";

/** The stand-in as a server would list it, and its name for the model. */
export async function describeStandIn({ name, definition }: UsedConnection) {
  const { description, toolNames } = definition.options;
  // Without a prefix those of several connections would have one name.
  const names = toolNames?.prefix === false ? {} : { toolNames };
  const tool = {
    name: standInName,
    description: `The tools of connection ${name} (${description}) can only be used when the user has signed in to it. Call this tool if you need them.`,
    inputSchema: { type: "object" as const, properties: {}, additionalProperties: false },
  };
  return { tool, toolName: await toolName(name, standInName, names) };
}

/** For the model, where no call can wait. */
export function signInWords(connection: string, startUrl: string | undefined): string {
  const where = startUrl === undefined ? "" : ` at ${startUrl}`;
  return `The user has to sign in to connection ${connection}${where}. Ask the user to do so. The connection's tools are there afterwards.`;
}

/** The result of a stand-in's call after the sign-in. */
export function signedInResult(connection: string) {
  const text = `The user has signed in to connection ${connection}. Its tools can be used now.`;
  return { content: [{ type: "text", text }] };
}
