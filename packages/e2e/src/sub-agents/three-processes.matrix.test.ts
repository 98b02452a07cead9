import { runStep } from "@durable-mcp/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from "../authorization/authorization-server.ts";
import { type LockedServer, startLockedServer } from "../authorization/locked-server.ts";
import { openStoreAt, startStorePlace } from "../durable/store-place.ts";
import { type AskingServer, startAskingServer } from "../servers/asking.ts";
import type { AgentsTask } from "./agents-step.ts";
import {
  type NestedResult,
  type NestedUse,
  signInBefore,
  start,
  waitingOf,
} from "./nested-agents.ts";

let place: Awaited<ReturnType<typeof startStorePlace>>;
let shop: AskingServer;
let authorization: AuthorizationServer;
let locked: LockedServer;
beforeAll(async () => {
  place = await startStorePlace("sqlite");
  shop = await startAskingServer();
  authorization = await startAuthorizationServer();
  locked = await startLockedServer({ sdk: 1, issuer: authorization.issuer });
});
afterAll(async () => {
  await Promise.all([shop.stop(), locked.stop(), authorization.stop(), place.remove()]);
});

async function inProcess(task: Omit<AgentsTask, "place">): Promise<NestedResult> {
  const { kind, at } = place;
  const input = { ...task, place: { kind, at } };
  const module = new URL("agents-step.ts", import.meta.url);
  const { output } = await runStep<AgentsTask, NestedResult>(module, { input, endsByItself: true });
  return output;
}

const ways = (["generate", "stream"] as const).flatMap((how) => [
  { shape: "kept", major: 6, how } as const,
  { shape: "kept", major: 7, how } as const,
  { shape: "own", major: 6, how } as const,
  { shape: "own", major: 7, how } as const,
  { shape: "durable", major: 7, how } as const,
]);
const variants = (["question", "sign-in"] as const).flatMap((waitsFor) =>
  ways.map((way) => ({ ...way, waitsFor })),
);

test.each(variants)(
  "the root has the answer of its sub-agent, which asked in one process and went on in another: $waitsFor, $shape, $how, AI SDK $major",
  async (way) => {
    const sessionId = Object.values(way).join(" ");
    const { url } = way.waitsFor === "question" ? shop : locked;
    const use: NestedUse = { ...way, url, sessionId };
    const { store, close } = await openStoreAt(place);

    if (way.waitsFor === "sign-in") {
      await signInBefore(use, { store });
      await authorization.revokeGrants(sessionId);
    }
    const asked = await inProcess({ what: "ask", use, messages: start });
    const waiting = await waitingOf(use, { store });
    expect(waiting).toContainEqual(
      expect.objectContaining({
        type: way.waitsFor === "question" ? "question" : "call-waits-for-sign-in",
        // AI SDK 6 does not tell which tool it executes.
        path: [{ toolName: "delegate", toolCallId: "call-0-0" }],
      }),
    );
    await inProcess({ what: "answer", use, messages: asked.messages });
    const { messages, rootTold, innerTold } = await inProcess({
      ...{ what: "resume", use, messages: asked.messages },
    });
    expect(innerTold).toHaveLength(1);
    const told = way.waitsFor === "question" ? `${sessionId} comes at 12:00.` : "1 notes";
    expect(innerTold[0]).toContain(told);
    expect(rootTold).toEqual(["text: It is done."]);
    expect(messages.at(-1)).toMatchObject({ role: "assistant" });
    const done =
      way.waitsFor === "question"
        ? shop.orders().filter(({ item }) => item === sessionId).length
        : locked.runs(`"${sessionId}"`);
    expect(done).toBe(1);
    expect(await waitingOf(use, { store })).toEqual([]);
    await close?.();
  },
);
