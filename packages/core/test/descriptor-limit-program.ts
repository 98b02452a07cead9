// Makes calls at once on one resumed session, in a process with few descriptors, and prints their outcomes.
import { createSessionFetch, createSessionSlot, McpSessionError } from "../src/index.ts";
import { createRpcClient } from "./rpc-client.ts";
import { sessionSnapshot } from "./session-snapshot.ts";

const [url = "", calls = "0"] = process.argv.slice(2);
const slot = createSessionSlot(sessionSnapshot(url));
const client = createRpcClient(createSessionFetch({ url, slot }), url);
const ended = await Promise.allSettled(
  Array.from({ length: Number(calls) }, (_, id) => client.request("tools/call", { id }, { id })),
);
const outcomes: Record<string, number> = {};
for (const result of ended) {
  const error: unknown = result.status === "rejected" ? result.reason : undefined;
  const isOurs = McpSessionError.isInstance(error);
  const other = error instanceof Error ? error.message : "answered";
  const outcome = isOurs ? `${error.code} ${error.data.reason}` : other;
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
}
console.log(JSON.stringify(outcomes));
