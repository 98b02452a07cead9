import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@durable-mcp/server/node";
import { type Asked, ownIds, type Said, wires } from "./model-wires.ts";

/** A call that the model makes, one after the other. */
export interface ScriptedCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Awaited before the model asks for it. */
  readonly before?: (() => Promise<unknown>) | undefined;
}

/**
 * A model on loopback that makes the calls of a script, on the wires of OpenAI and of Gemini.
 *
 * @param isResumed the results that it sees at first are of an earlier run
 */
export async function startScriptedModel(script: readonly ScriptedCall[], isResumed = false) {
  let before = isResumed ? undefined : 0;
  const results: string[] = [];
  const begun = new Map<number, Promise<unknown>>();
  const offered = new Set<string>();

  const say = async (asked: Asked): Promise<Said> => {
    for (const { name } of asked.tools) offered.add(name);
    if (asked.tools.length === 0) return { words: "ok" };
    before ??= asked.results.length;
    const own = asked.results.slice(before);
    const at = own.length;
    if (at > results.length) results.push(...own.slice(results.length));
    const call = script[at];
    if (call === undefined) return { words: "done" };
    const tool = asked.tools.find(({ name }) => name.endsWith(call.tool));
    // Some agents call the tools of servers through one of their own.
    const through = asked.tools.find(({ name }) => name === "tool_call");
    if (tool === undefined && through === undefined) return { words: "There is no such tool." };
    const ready = begun.get(at) ?? Promise.resolve(call.before?.());
    begun.set(at, ready);
    await ready;
    const id = `${ownIds}_${before + at}`;
    if (tool !== undefined) return { id, tool, args: call.args };
    const args = { name: `mcp__notebook__${call.tool}`, arguments: call.args };
    return { id, tool: through!, args };
  };
  const handle = async (request: Request) => {
    const { pathname } = new URL(request.url);
    const wire = wires.find(({ path }) => path.test(pathname));
    if (wire === undefined || request.method !== "POST") return Response.json({}, { status: 404 });
    const message = (await request.json()) as { stream?: boolean };
    const said = await say(wire.read(message));
    const isStream = message.stream === true || pathname.endsWith(":streamGenerateContent");
    const type = isStream ? "text/event-stream" : "application/json";
    const text = isStream ? wire.stream(said) : wire.whole(said);
    return new Response(text, { headers: { "content-type": type } });
  };
  const server = createServer(toNodeHandler(handle));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What the calls gave, as the model read it. */
    results,
    /** The names of all tools that it was offered. */
    offered,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
