import { expectTypeOf, test } from "vitest";
import {
  createSessionFetch,
  createSessionSlot,
  McpSessionError,
  type McpSessionErrorCode,
  type OnSession,
  parseSessionSnapshot,
  type Principal,
  type SessionEvent,
  sessionKey,
  type SessionSlot,
  type SessionSnapshot,
  type ActiveSessionSnapshot,
  endSession,
} from "./index.ts";

test("is a fetch, and its snapshot goes through JSON", () => {
  const slot = createSessionSlot();
  expectTypeOf(slot).toEqualTypeOf<SessionSlot>();
  expectTypeOf(createSessionFetch({ url: "", slot })).toEqualTypeOf<typeof fetch>();
  expectTypeOf(slot.snapshot).toEqualTypeOf<SessionSnapshot | undefined>();
  expectTypeOf(parseSessionSnapshot).parameters.toEqualTypeOf<[unknown]>();
  expectTypeOf(parseSessionSnapshot(1)).toEqualTypeOf<SessionSnapshot>();
});

test("requires url and slot, and does not let a slot be written", () => {
  expectTypeOf(createSessionFetch).parameter(0).toHaveProperty("url");
  // @ts-expect-error the slot is required
  createSessionFetch({ url: "" });
  const slot = createSessionSlot();
  // @ts-expect-error a slot is read only
  slot.snapshot = undefined;
  // @ts-expect-error a session snapshot needs its id
  createSessionSlot({ version: 1, kind: "session", url: "" });
});

test("takes a save point that returns nothing, a snapshot, or a promise of either", () => {
  const options = { url: "", slot: createSessionSlot() };
  expectTypeOf<OnSession>().parameters.toEqualTypeOf<[ActiveSessionSnapshot]>();
  createSessionFetch({ ...options, onSession: () => {} });
  createSessionFetch({ ...options, onSession: async (snapshot) => snapshot });
  createSessionFetch({
    ...options,
    onSession: (snapshot) => {
      expectTypeOf(snapshot).toEqualTypeOf<ActiveSessionSnapshot>();
    },
  });
});

test("narrows errors and events by their literal names", () => {
  const caught: unknown = undefined;
  if (McpSessionError.isInstance(caught)) {
    expectTypeOf(caught.code).toEqualTypeOf<McpSessionErrorCode>();
  }
  type Lost = Extract<SessionEvent, { type: "lost" }>;
  expectTypeOf<Lost["status"]>().toEqualTypeOf<number>();
});

test("takes the three principals and no other", () => {
  expectTypeOf<Principal["type"]>().toEqualTypeOf<"user" | "app" | "anonymous">();
  // @ts-expect-error a user has an issuer
  sessionKey({ connection: "a", principal: { type: "user", id: "1" } });
  // @ts-expect-error a principal is required
  sessionKey({ connection: "a" });
});

test("ends a session of any kind of snapshot", () => {
  const result = endSession({ url: "", snapshot: {} as SessionSnapshot });
  expectTypeOf(result).resolves.toHaveProperty("ended").toEqualTypeOf<boolean>();
});
