/** A process with an MCP client of somebody else, on behalf of a user of the application. */
import { McpSessionError } from "@durable-mcp/core";
import type { McpTestClient } from "../clients/mcp-test-client.ts";
import { openStoreAt } from "../durable/store-place.ts";
import { createOAuthOf, userOf } from "./any-client-application.ts";
import type { ClientReport, ClientTask } from "./any-client-protocol.ts";
import { connectAnyClient } from "./connect-any-client.ts";

let client: McpTestClient | undefined;

process.on("message", (task: ClientTask) => void report(task));

async function report(task: ClientTask): Promise<void> {
  const said: ClientReport = await carryOut(task).then((text) => ({ type: "done", text }), failure);
  process.send!(said);
}

async function carryOut(task: ClientTask): Promise<string> {
  if (task.type === "call") return (await client!.callTool(task.tool, task.args)).text;
  const { application, url, user } = task;
  const { store } = await openStoreAt(application.place);
  const oauth = createOAuthOf(application, store);
  const connection = oauth.connect({ principal: userOf(user), url, connection: "notes" });
  client = await connectAnyClient(task, connection);
  return (await client.listTools()).join(" ");
}

/** As an application finds it: some clients put it into an error of their own. */
function failure(error: unknown): ClientReport {
  let depth = 0;
  let found = error;
  while (found instanceof Error && !McpSessionError.isInstance(found)) {
    found = found.cause;
    depth += 1;
  }
  const known = McpSessionError.isInstance(found) ? found : undefined;
  return {
    type: "failed",
    ...{ code: known?.code, scopes: known?.data.scopes, startUrl: known?.data.startUrl, depth },
    said: String(error),
  };
}
