/** A process of an application: does its legs, one after the other, with a new client for each. */
import { McpSessionError } from "@durable-mcp/core";
import { loadLegClient } from "../conformance/any-client.ts";
import type { Called, LegClient } from "../conformance/legs/leg-client.ts";
import type { AskingEnd, AskingLeg, AskingLegs } from "./asking-protocol.ts";

export default async function step({ way, legs }: AskingLegs): Promise<AskingEnd[]> {
  const open = await loadLegClient(way);
  const ends: AskingEnd[] = [];
  for (const leg of legs) {
    const client = await open(leg);
    ends.push(await go(client, leg).then(endOf, failureOf));
    await client.close();
  }
  return ends;
}

async function go(client: LegClient, { tool, args, ...leg }: AskingLeg): Promise<Called> {
  if (args !== undefined) return await client.callTool(tool, args);
  const id = leg.id ?? (await client.waiting())[0]?.id;
  if (id === undefined) throw new Error("no call waits");
  let called: Called | undefined;
  for (const answer of leg.answers ?? []) called = await client.answer(id, answer);
  if (called === undefined) throw new Error("no answer was given");
  return called;
}

function endOf(called: Called): AskingEnd {
  return "text" in called
    ? { outcome: called.text }
    : { outcome: "waiting", id: called.waiting.id };
}

function failureOf(error: unknown): AskingEnd {
  if (McpSessionError.isInstance(error)) return { outcome: error.code };
  const text = error instanceof Error ? error.message : String(error);
  return { outcome: /^the answered call is ([\w-]+)$/.exec(text)?.[1] ?? `broken: ${text}` };
}
