import type { WaitingEntry } from "@durable-mcp/core/waiting";
import type { ModelMessage } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Turn } from "@durable-mcp/testing/ai-sdk";
import { type StoreKind, storeUnavailable } from "../durable/store-place.ts";
import type { AgentTask } from "./agent-protocol.ts";
import { type AgentWorld, startAgentWorld } from "./agent-world.ts";
import { secretsIn } from "./secrets-in.ts";

const user: ModelMessage = { role: "user", content: "Keep my notes." };
const add = (text: string) => ({ tool: "notes__add_note", input: { text } });
const list = { tool: "notes__list_notes" };
const signInTool = { tool: "notes__sign_in" };

interface Kind {
  readonly sdk: 1 | 2;
  readonly session: "stateful" | "stateless";
  readonly store: StoreKind;
  /** The requests of a step that cannot begin, and of one that goes on. */
  readonly refused: readonly string[];
  readonly resumed: readonly string[];
}

const kinds: readonly Kind[] = [
  {
    ...{ sdk: 1, session: "stateful", store: "sqlite" },
    ...{ refused: ["initialize 401"], resumed: ["tools/call 200"] },
  },
  {
    ...{ sdk: 2, session: "stateful", store: "postgres" },
    ...{ refused: ["initialize 401"], resumed: ["tools/call 200"] },
  },
  {
    ...{ sdk: 2, session: "stateless", store: "redis" },
    refused: ["server/discover 401"],
    resumed: ["server/discover 200", "tools/list 200", "tools/call 200"],
  },
];

describe.for(kinds)(
  "on SDK $sdk, $session, with $store",
  ({ sdk, session, store, refused, resumed }) => {
    let world: AgentWorld;
    const open = storeUnavailable[store] === undefined ? store : "sqlite";
    beforeAll(async () => {
      world = await startAgentWorld({ sdk, session, store: open });
    });
    afterAll(() => world?.close());

    /** Each of them is one process. */
    const of = (who: string, more: Partial<AgentTask> = {}) => {
      const use = { user: who, sessionId: "chat", ...more };
      const generate = async (messages: ModelMessage[], ...turns: Turn[]) =>
        await world.run({ ...use, work: { type: "generate", messages, turns } });
      const waiting = async () => (await world.run({ ...use, work: { type: "waiting" } })).waiting!;
      return {
        ...{ generate, waiting },
        say: (...turns: Turn[]) => generate([user], ...turns),
        signIn: (door: WaitingEntry | undefined) => world.signIn(door, who),
        endAll: () => world.run({ ...use, work: { type: "end all" } }),
      };
    };
    const ada = of("ada");
    const refreshes = async () =>
      (await world.authorization.requests("token", "refresh_token")).length;
    const runs = (text: string) => world.locked.runs(text);
    const stopped = { text: "", isWaiting: true };

    test("nobody is signed in: the agent waits, the user signs in, and another process goes on", async () => {
      const first = await ada.say([signInTool], "never");
      expect(first).toMatchObject({ ...stopped, model: { calls: 1, tools: ["notes__sign_in"] } });
      expect(first.requests).toEqual(refused);
      // Nothing of a sign-in happens before the click.
      expect(await world.authorization.journal()).toEqual([]);
      const [door, call] = await ada.waiting();
      expect(door).toEqual({
        ...{ type: "sign-in", connection: "notes", server: new URL(world.locked.url).origin },
        ...{ scopes: ["notes:read"], askedAt: expect.any(Number) },
        startUrl: expect.stringMatching(
          /:3999\/oauth\/start\?connection=notes&resource=\w+&chat=[\w-]+$/,
        ),
      });
      expect(call).toMatchObject({
        type: "call-waits-for-sign-in",
        tool: "sign_in",
        state: "waiting",
      });
      const early = await ada.generate(first.messages!, "never");
      expect(early).toMatchObject({ ...stopped, model: { calls: 0 } });

      await ada.signIn(door);
      const second = await ada.generate(first.messages!, [add("tea")], "Done.");
      expect(second.text).toBe("Done.");
      expect(second.model?.told).toEqual([expect.stringContaining("has signed in"), "1 notes"]);
      expect(second.model?.tools).toContain("notes__add_note");
      expect(second.model?.tools).not.toContain("notes__sign_in");
      expect(runs("tea")).toBe(1);
      expect(await ada.waiting()).toEqual([]);
      const third = await ada.say([list], "One note.");
      expect(third.model?.told).toEqual(["tea"]);
      expect(third.requests).toEqual(resumed);
      const registrations = await world.authorization.requests("registration");
      const codes = await world.authorization.requests("token", "authorization_code");
      expect([registrations.length, codes.length, await refreshes()]).toEqual([1, 1, 0]);
    });

    test.skipIf(session === "stateless")(
      "a grant that ends while two calls are made: they wait, and go on in the same session, once each",
      async () => {
        const before = await refreshes();
        await world.authorization.revokeGrants("ada");
        const parked = await ada.say([add("milk"), add("rice")], "never");
        expect(parked).toMatchObject(stopped);
        expect(parked.requests).toEqual(["tools/call 401", "tools/call 401"]);
        expect((await refreshes()) - before).toBe(1);
        const [door, ...calls] = await ada.waiting();
        const waits = { type: "call-waits-for-sign-in", tool: "add_note", state: "waiting" };
        expect(calls).toMatchObject([waits, waits]);

        await ada.signIn(door);
        expect([runs("milk"), runs("rice")]).toEqual([0, 0]);
        const both = [1, 2].map(() => ada.generate(parked.messages!, "Done."));
        const requests = (await Promise.all(both)).flatMap((each) => each.requests);
        expect(requests).toEqual(["tools/call 200", "tools/call 200"]);
        const { model } = await ada.generate(parked.messages!, "Done.");
        expect(model?.told.toSorted()).toEqual(["2 notes", "3 notes"]);
        expect([runs("milk"), runs("rice")]).toEqual([1, 1]);
        expect(await ada.waiting()).toEqual([]);
      },
    );

    // With sessions SDK 1 shows the same.
    test.skipIf(store === "postgres")(
      "a call that needs a further scope waits for it, and is carried out once",
      async () => {
        const reason = "spring";
        const asked = await ada.say([{ tool: "notes__delete_notes", input: { reason } }], "never");
        expect(asked).toMatchObject(stopped);
        expect(asked.requests.at(-1)).toBe("tools/call 403");
        const [door] = await ada.waiting();
        const scopes: unknown = expect.arrayContaining(["notes:read", "notes:delete"]);
        expect(door).toMatchObject({ type: "sign-in", scopes });
        expect(runs(reason)).toBe(0);
        await ada.signIn(door);
        const done = await ada.generate(asked.messages!, "Deleted.");
        // The notes of the first test: the session is the same, or the user.
        const notes = session === "stateless" ? 1 : 3;
        expect(done.model?.told).toEqual([`${notes} notes deleted`]);
        expect(runs(reason)).toBe(1);
      },
    );

    test.runIf(sdk === 1)(
      "users and agents are never mixed, and endAll forgets sign-ins",
      async () => {
        const whose = { tool: "notes__whose" };
        const bob = of("bob");
        for (const how of [{ required: true }, { onUnavailable: "throw" }] as const) {
          const { failure } = await of("bob", how).say("never");
          expect(failure).toEqual({
            ...{
              code: "AUTHORIZATION_REQUIRED",
              startUrl: expect.stringContaining("/oauth/start"),
            },
          });
        }
        const [bobs, ...none] = await bob.waiting();
        expect(none).toEqual([]);
        await bob.signIn(bobs);
        expect((await bob.say([whose], "Bob.")).model?.told).toEqual(["bob"]);
        // The sign-in is the user's; the session is the agent's.
        const other = of("ada", { agent: "other" });
        expect((await other.say([whose], [list], "Ada.")).model?.told).toEqual(["ada", ""]);

        await world.authorization.revokeGrants("ada");
        expect(await ada.say([add("salt")], "never")).toMatchObject(stopped);
        const [door, ...calls] = await ada.waiting();
        expect(calls).toHaveLength(1);
        expect(await other.waiting()).toEqual([door]);
        expect(await bob.waiting()).toEqual([]);

        await ada.signIn(door);
        await ada.endAll();
        expect((await ada.say("Hello.")).model?.tools).toEqual(["notes__sign_in"]);
        expect((await bob.say([whose], "Bob.")).model?.told).toEqual(["bob"]);
        expect(runs("salt")).toBe(0);
      },
    );

    test("no process prints a token, a session id, a state, a code or a verifier", async () => {
      const secrets = await world.secrets();
      // It would be seen: the state is in the address to which the user is sent.
      expect(secretsIn(world.locations(), secrets)).toBeGreaterThan(1);
      expect(world.printed()).toContain("AUTHORIZATION_REQUIRED");
      expect(secretsIn(world.printed(), secrets)).toBe(0);
    });
  },
);
