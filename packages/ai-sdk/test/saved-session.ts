import { defineMcpClientConnection, type McpClientConnectionOptions } from "../src/index.ts";
import { startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { type AgentSession, callForText, startApplication } from "./step.ts";

export const aliceKey = '["notes","user","https://idp.test","alice"]';

/** An application with one notebook, and a session of it that `alice` has. */
export async function startSaved() {
  const server = await startNotebookServer();
  const application = startApplication({ notes: notebook(server) });
  const session = await application.step({}, list);
  application.takeEvents();
  server.requests.length = 0;
  return { server, application, session, snapshot: slotsOf(session)[aliceKey] as object };
}

/** A stateful connection, if the options say nothing else. */
export const notebook = (
  { url }: { readonly url: string },
  options: Partial<McpClientConnectionOptions> = {},
) =>
  defineMcpClientConnection({ url, description: "A notebook.", session: "stateful", ...options });

/** A notebook, and an application that has it as `notes`. */
export async function startNotes(
  options: Partial<McpClientConnectionOptions> = {},
  application: Parameters<typeof startApplication>[1] = {},
  ofServer: Parameters<typeof startNotebookServer>[0] = {},
) {
  const server = await startNotebookServer(ofServer);
  const started = startApplication({ notes: notebook(server, options) }, application);
  return { server, application: started, ...started };
}

export async function list(registry: { tools(): Promise<any> }) {
  await callForText(await registry.tools(), "notes__list_notes");
}

export function slotsOf({ state }: AgentSession): Record<string, unknown> {
  return (state as { mcpSessions: Record<string, unknown> }).mcpSessions;
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const child of Object.values(value)) deepFreeze(child);
    Object.freeze(value);
  }
  return value;
}
