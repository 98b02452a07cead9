import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as current from "@durable-mcp/ai-sdk";
import type { McpClientConnectionOptions } from "@durable-mcp/ai-sdk";
import { encryptStore, type SealingKey } from "@durable-mcp/core/sealing";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { generateText, type ModelMessage, ToolLoopAgent, type ToolSet } from "ai";
import { describe, expect, onTestFinished, test } from "vitest";
import { startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { createSignIns } from "../../../ai-sdk/test/sign-ins.ts";
import { type SlowKind, slowKinds, startSlowServer } from "../../../sessions/test/slow-server.ts";

/** What `keep-release.ts` keeps of a release. */
type Release = Pick<
  typeof current,
  "agentTool" | "createDurableSessions" | "defineMcpClientConnection" | "stopWhenWaiting"
> & {
  readonly createSqliteStore: typeof createSqliteStore;
  readonly encryptStore: typeof encryptStore;
};

const present: Release = { ...current, createSqliteStore, encryptStore };

/** The releases that are kept, and the options by which calls wait without and with a session. */
const releases: [file: string, waits: Waits][] = [
  ["2026-11-24.mjs", { stateless: { input: "pause" }, stateful: {} }],
];

const alice = { type: "user", issuer: "https://idp.test", id: "alice" } as const;
const use = { principal: alice };
const hour = 3_600_000;
const later = {
  code: "STATE_INVALID",
  message: expect.stringContaining("later release") as string,
};
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const start: ModelMessage[] = [{ role: "user", content: "Work." }];
const research: Turn = [{ tool: "lab__research", input: { topic: "tea" } }];
const look: Turn = [{ tool: "shop__look", input: { item: "tea" } }];
const order: Turn = [{ tool: "shop__order", input: { item: "tea" } }];
const delegate: Turn = [{ tool: "delegate", input: { prompt: "Work." } }];

type SignIns = ReturnType<typeof createSignIns>;

type Waits = Readonly<Record<"stateless" | "stateful", object>>;

interface Shared {
  readonly path: string;
  readonly key: SealingKey;
  readonly shop: McpClientConnectionOptions;
  readonly lab: Omit<McpClientConnectionOptions, "session"> & { readonly session: keyof Waits };
}

/** A process of a release. */
function startProcess(release: Release, waits: Waits, { path, key, shop, lab }: Shared) {
  const database = release.createSqliteStore({ path });
  onTestFinished(() => database.close());
  let aheadMs = 0;
  const define = release.defineMcpClientConnection;
  const sessions = release.createDurableSessions({
    connections: {
      shop: define({ ...shop, ...waits.stateless }),
      lab: define({ ...lab, ...waits[lab.session] }),
    },
    store: release.encryptStore(database, { keys: { current: key }, fingerprintKey: key }),
    now: () => Date.now() + aheadMs,
    onEvent: () => undefined,
  });
  /** The tools of a step, with one in which an agent runs. */
  const toolsOf = (own: ToolSet, turns: Turn[]): ToolSet => {
    const model = scriptedModel(...turns);
    const agent = new ToolLoopAgent({ model, tools: own, ...release.stopWhenWaiting() });
    return { ...own, delegate: release.agentTool({ description: "Works.", agent }) as never };
  };
  return {
    sessions,
    waiting: async () => await sessions.waiting("chat", use),
    /** A step of the agent, from messages and to messages that are JSON. */
    async step(before: readonly ModelMessage[], turns: Turn[], innerTurns: Turn[] = []) {
      const model = scriptedModel(...turns);
      const after = await sessions.run("chat", use, async (run) => {
        const tools = toolsOf(await run.tools(), innerTurns);
        const resumed = await run.waiting.resume(before, { tools });
        const { messages } = resumed;
        if (!resumed.goesOn) return messages;
        const given = { model, tools: resumed.tools, messages, ...release.stopWhenWaiting() };
        return [...messages, ...(await generateText(given)).responseMessages];
      });
      return { messages: asJson(after), told: toolResults(model) };
    },
    /** Looks at all calls that are due. */
    async checkDue() {
      const checked = [];
      for await (const { reference } of sessions.admin.due())
        checked.push(await sessions.admin.check(reference));
      return checked;
    },
    async sweepLate() {
      aheadMs = 10 * hour;
      return await sessions.admin.sweep({ idleForMs: hour });
    },
  };
}

describe.each(releases)("a release of %s beside the present one", (file, theirs) => {
  async function startBoth({
    kind = "stream",
    signIns,
  }: { kind?: SlowKind; signIns?: SignIns } = {}) {
    const folder = mkdtempSync(join(tmpdir(), "durable-mcp-releases-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const shop = await startAskingServer(signIns && { guard: signIns.guard });
    const lab = await startSlowServer(kind);
    const description = "A server.";
    const waiting = { afterMs: 150 };
    const session = kind === "task of 2026-07-28" ? "stateless" : "stateful";
    const shared = {
      path: join(folder, "store.db"),
      key: crypto.getRandomValues(new Uint8Array(32)),
      shop: { url: shop.url, description, ...(signIns && { auth: signIns.auth }) },
      lab: { url: lab.url, description, session } as const,
    };
    const kept = (await import(/* @vite-ignore */ new URL(file, import.meta.url).href)) as Release;
    return {
      ...{ shop, lab },
      older: startProcess(kept, theirs, shared),
      newer: startProcess(present, { stateless: { waiting }, stateful: { waiting } }, shared),
    };
  }

  /** Both, and a call that the present one has left to its server. */
  async function startHeld(kind: SlowKind, turns = [research], innerTurns: Turn[] = []) {
    const both = await startBoth({ kind });
    const { messages } = await both.newer.step(start, turns, innerTurns);
    const [call] = (await both.newer.waiting()) as [WaitingCall];
    expect(call).toMatchObject({ type: kind === "stream" ? "stream" : "task", state: "waiting" });
    return { ...both, messages, call };
  }

  const isSettled = [{ call: { state: "settled" } }];

  describe.each(slowKinds)("with a %s", (kind) => {
    test("says of it that it is a later release's, and leaves it alone", async () => {
      const { lab, older, newer, messages, call } = await startHeld(kind);
      await expect(older.waiting()).rejects.toMatchObject(later);
      await expect(older.step(messages, ["never"])).rejects.toMatchObject(later);
      await expect(older.sessions.answer("chat", call.id, yes, use)).rejects.toMatchObject(later);
      await expect(older.sessions.withdraw("chat", call.id, use)).rejects.toMatchObject(later);

      lab.finish();
      await expect.poll(() => newer.checkDue()).toMatchObject(isSettled);
      await expect(older.step(messages, ["never"])).rejects.toMatchObject(later);
      expect((await newer.step(messages, ["Seen."])).told).toEqual(["All about tea."]);
      expect(lab.works).toHaveLength(1);
    });
  });

  test("sweeps none of it, and the present one does", async () => {
    const { older, newer } = await startHeld("task of 2026-07-28");
    expect(await older.sweepLate()).toMatchObject({ waitingCalls: 0 });
    expect(await newer.sweepLate()).toMatchObject({ waitingCalls: 1 });
    expect(await newer.checkDue()).toEqual([]);
  });

  test("does not make a call again that the present one has left to its server", async () => {
    const { lab, older } = await startHeld("task of 2026-07-28");
    const again = await older.step(start, [research]);
    expect(JSON.stringify(again.messages)).toContain("later release");
    expect(lab.works).toHaveLength(1);
  });

  test("goes on with no agent in which a task waits", async () => {
    const { lab, older, newer, messages } = await startHeld(
      "task of 2026-07-28",
      [delegate],
      [research],
    );
    lab.finish();
    await expect(older.step(messages, ["never"], ["never"])).rejects.toMatchObject(later);
    await expect.poll(() => newer.checkDue()).toMatchObject(isSettled);
    expect((await newer.step(messages, ["Done."], ["Seen."])).told).toEqual(["text: Seen."]);
  });

  test("ends all of a user, also what it does not know", async () => {
    const { older, newer, messages } = await startHeld("task of 2026-07-28");
    await older.sessions.endAll(use);
    expect(await newer.waiting()).toEqual([]);
    await expect.poll(() => newer.checkDue()).toEqual([undefined]);
    expect(await newer.checkDue()).toEqual([]);
    const { told } = await newer.step(messages, ["Gone."]);
    expect(told).toEqual([expect.stringContaining("not kept any more")]);
  });

  test("parks a question, which the present one answers", async () => {
    const { older, newer } = await startBoth();
    const { messages } = await older.step(start, [order]);
    const [call] = (await newer.waiting()) as [WaitingCall];
    await newer.sessions.answer("chat", call.id, yes, use);
    expect((await newer.step(messages, ["Ordered."])).told).toEqual(["order tea is done."]);
  });

  test("parks an agent with a question, which goes on in the present one", async () => {
    const { older, newer } = await startBoth();
    const { messages } = await older.step(start, [delegate], [order]);
    const [call] = (await newer.waiting()) as [WaitingCall];
    await newer.sessions.answer("chat", call.id, yes, use);
    expect((await newer.step(messages, ["Done."], ["Ordered."])).told).toEqual(["text: Ordered."]);
  });

  test("parks a call until the user has signed in, which the present one makes", async () => {
    const signIns = createSignIns({ scopes: { look: "read" } });
    const { shop, older, newer } = await startBoth({ signIns });
    await signIns.signIn(alice, shop.url);
    const { messages } = await older.step(start, [look]);
    expect(shop.legs).toEqual([]);
    const waits = [{ type: "sign-in" }, { type: "call-waits-for-sign-in", tool: "look" }];
    expect(await newer.waiting()).toMatchObject(waits);
    await signIns.signIn(alice, shop.url);
    expect((await newer.step(messages, ["Seen."])).told).toEqual(["look tea is done."]);
    expect(shop.legs).toHaveLength(1);
  });
});
