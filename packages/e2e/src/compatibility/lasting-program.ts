/** A process of an application: makes a call that lasts longer than itself, or looks at one that another has made. */
import { setTimeout } from "node:timers/promises";
import { McpSessionError } from "@durable-mcp/core";
import type { Called, LegClient, OpenLegClient } from "../conformance/legs/leg-client.ts";
import type { CreateOwnClient } from "../clients/own-client.ts";
import type { LastingEnd, LastingLeg, LastingWay } from "./lasting-protocol.ts";

const onSessionFetch = async (create: CreateOwnClient) =>
  (await import("../conformance/legs/on-session-fetch.ts")).onSessionFetch(create);

const ways: Record<LastingWay, () => Promise<OpenLegClient>> = {
  "@durable-mcp/ai-sdk": async () =>
    (await import("../conformance/legs/pausing-connection.ts")).openPausingConnection,
  "@ai-sdk/mcp": async () =>
    await onSessionFetch((await import("../clients/ai-sdk-2.ts")).createAiSdk2),
  "@modelcontextprotocol/client": async () =>
    await onSessionFetch((await import("../clients/client-2.ts")).createClient2Auto),
  "@modelcontextprotocol/sdk": async () =>
    await onSessionFetch((await import("../clients/sdk-1.ts")).createSdk1),
};

export default async function step({ way, ...leg }: LastingLeg): Promise<LastingEnd> {
  const client = await (await ways[way]())({ afterMs: 300, ...leg });
  const end = await go(client, leg).then(endOf, failureOf);
  await client.close();
  return end;
}

async function go(client: LegClient, leg: Omit<LastingLeg, "way">): Promise<Called> {
  const { tool, args, answer, untilMs = 0 } = leg;
  // Clients learn from the list what a tool is.
  if (args !== undefined) return await client.listTools().then(() => client.callTool(tool, args));
  const [waiting] = await client.waiting();
  if (waiting === undefined) throw new Error("no call waits");
  const until = Date.now() + untilMs;
  for (let called: Called = { waiting }; ;) {
    if ("text" in called) return called;
    const { id, type, requests, pollAfter = 0 } = called.waiting;
    if (type === "question") {
      if (answer === undefined) return called;
      const keys = Object.keys(requests);
      called = await client.answer(id, Object.fromEntries(keys.map((key) => [key, answer])));
      continue;
    }
    if (Math.max(Date.now(), pollAfter) > until && untilMs > 0) return called;
    if (untilMs > 0) await setTimeout(Math.max(50, pollAfter - Date.now() + 20));
    called = await client.check(id);
    if (untilMs === 0) return called;
  }
}

function endOf(called: Called): LastingEnd {
  return { outcome: "text" in called ? called.text : called.waiting.type };
}

function failureOf(error: unknown): LastingEnd {
  if (McpSessionError.isInstance(error)) return { outcome: error.code };
  const text = error instanceof Error ? error.message : String(error);
  return { outcome: /^the answered call is ([\w-]+)$/.exec(text)?.[1] ?? `broken: ${text}` };
}
