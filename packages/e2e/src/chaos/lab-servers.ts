import { setTimeout as wait } from "node:timers/promises";
import type { Principal, SessionStore } from "@durable-mcp/core";
import { createFaultyProxy, createFaultyServer, type Guard } from "@durable-mcp/testing";
import type { Interceptor } from "../../../sessions/test/notebook-server.ts";
import { createSignIns } from "../../../ai-sdk/test/sign-ins.ts";
import { type SlowKind, slowKinds } from "../../../sessions/test/slow-server.ts";
import type { Work } from "../../../sessions/test/slow-work.ts";
import { startSlowProgram } from "../servers/slow.ts";
import { faultHeader } from "./points.ts";

/** What a call waits for. */
export type Kind = "question" | "sign-in" | SlowKind;
export const kinds: readonly Kind[] = ["question", "sign-in", ...slowKinds];

/** How a server of slow calls does the work on a topic. */
export interface WorkPlan {
  readonly asks: boolean;
  readonly afterMs: number;
}

export type LabServers = Awaited<ReturnType<typeof startLabServers>>;

/**
 * A server for each kind of call, with a ledger of effects, each behind a proxy that does what a request asks for in its
 * header.
 *
 * @param store keeps the sign-ins
 */
export async function startLabServers(store: SessionStore) {
  const plans = new Map<string, WorkPlan>();
  const effects: string[] = [];
  const begin = async (work: Work) => {
    effects.push(work.topic);
    const { asks, afterMs } = plans.get(work.topic) ?? { asks: false, afterMs: 0 };
    await wait(afterMs);
    if (asks && work.state === "working") work.set("asking");
    while (work.state === "asking") await work.changed();
    if (work.state === "working") work.set("done");
  };
  const signIns = createSignIns({ store, scopes: { look: "read" } });
  const tools = {
    order: ({ item }: { item: string }) => done("order", item),
    look: ({ item }: { item: string }) => done("look", item),
  };
  const done = (tool: string, item: string) => {
    effects.push(item);
    return `${tool} ${item} is done.`;
  };
  const fast = async (era: "2026-07-28" | "both", guard?: typeof signIns.guard) => {
    const server = await createFaultyServer({ tools, era });
    server.ask("order", [{ confirm: { message: "Order it?", form: { ok: { type: "boolean" } } } }]);
    server.setGuard(faultsBefore(guard));
    return server;
  };
  const slow = await Promise.all(
    slowKinds.map((kind) => startSlowProgram(kind, { onWork: (work) => void begin(work) })),
  );
  const proxies = [
    await fast("2026-07-28"),
    await fast("both", signIns.guard),
    ...(await Promise.all(slow.map(({ url }) => createFaultyProxy({ target: url })))),
  ];
  for (const proxy of proxies.slice(2)) proxy.setGuard(faultsBefore());
  return {
    plans,
    signIns,
    /** How often the call on a topic was carried out, or begun. */
    effects: (topic: string) => effects.filter((each) => each === topic).length,
    /** Each chat has an address of its own, and so a sign-in of its own. */
    urlOf: (kind: Kind, chat: string) =>
      `${proxies[kinds.indexOf(kind)]!.url}?chat=${encodeURIComponent(chat)}`,
    principalOf,
    async close() {
      await Promise.all([...proxies, ...slow].map((each) => each.close()));
    },
  };
}

export const principalOf = (chat: string): Principal & { type: "user" } => ({
  type: "user",
  issuer: "https://idp.test",
  id: chat,
});

/** What a request asks for in its header happens before the server, or after it. */
function faultsBefore(guard: Interceptor = () => "next"): Guard {
  return async ({ seen, carryOut: handOn }) => {
    const carryOut = async () => {
      let refused: Response | undefined;
      const response = {
        writeHead: (status: number, headers: Record<string, string>) =>
          void (refused = new Response(null, { status, headers })),
        end: () => undefined,
      };
      const { headers, message } = seen;
      await guard({ headers: Object.fromEntries(headers), message } as never, response as never);
      return refused ?? (await handOn());
    };
    const [kind, side] = seen.headers.get(faultHeader)?.split(" ") ?? [];
    if (kind === "slow") await wait(150);
    if (kind === undefined || kind === "slow") return await carryOut();
    const carried = side === "after" || kind === "cut" ? await carryOut() : undefined;
    if (kind === "cut") return cutShort(carried!);
    // An answer stream may be open for as long as its call is carried out.
    if (carried) await Promise.race([carried.text().catch(() => undefined), wait(150)]);
    if (kind === "fail") throw new Error("reset");
    return new Response("the gateway has no answer", { status: Number(kind) });
  };
}

/** Headers and the first piece; then the connection breaks. */
function cutShort({ status, headers, body }: Response): Response {
  const reader = body?.getReader();
  const first = new ReadableStream<Uint8Array>({
    async pull(stream) {
      const { value } = (await reader?.read()) ?? {};
      if (value) stream.enqueue(value.subarray(0, Math.ceil(value.length / 2)));
      await wait(10);
      await reader?.cancel().catch(() => undefined);
      stream.error(new Error("The connection breaks."));
    },
  });
  headers.delete("content-length");
  return new Response(first, { status, headers });
}
