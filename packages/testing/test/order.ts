import type { SessionStore } from "@durable-mcp/core";
import { createMemoryStore } from "@durable-mcp/core";
import type { StepContext } from "../src/index.ts";

export interface Order {
  readonly url: string;
  readonly item: string;
}

/** A step without a session: it calls a tool, then saves the answer. */
export default async function order(
  { url, item }: Order,
  { fetch, watch, now }: StepContext,
  store: SessionStore = createMemoryStore(),
) {
  const watched = watch(store);
  await watched.get("order");
  const answer = await callTool(url, "order", { item }, {}, fetch);
  console.log(`ordered ${item}`);
  await watched.put("order", answer, null, { owner: "ann" });
  return { answer, at: now(), date: Date.now() };
}

/** One request of 2026-07-28. */
export async function callTool(
  url: string,
  name: string,
  args: object,
  more: object = {},
  fetch = globalThis.fetch,
) {
  const prefix = "io.modelcontextprotocol/";
  const meta = {
    [`${prefix}protocolVersion`]: "2026-07-28",
    [`${prefix}clientInfo`]: { name: "test", version: "1" },
    [`${prefix}clientCapabilities`]: { elicitation: { form: {}, url: {} } },
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": name,
    },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: { name, arguments: args, _meta: meta, ...more },
    }),
  });
  if (!response.ok) throw Object.assign(new Error(`HTTP ${response.status}`), { code: "REFUSED" });
  const { result, error } = JSON.parse(await response.text());
  return result ?? error;
}
