import { createMemoryStore } from "../stores/memory-store.ts";
import type { SessionStore } from "../stores/session-store.ts";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { encryptStore, encryptValues, type UnreadableValueReason } from "./encrypted-store.ts";

const randomKey = () => crypto.getRandomValues(new Uint8Array(32));
const current = randomKey();
const fingerprintKey = randomKey();

const alice = ["user", "https://idp.test", "alice"];
const aliceB = ["user", "https://idp.test", "alice-b"];
const app = ["app"];
const keyOf = (session: string, connection: string, principal: readonly string[]) =>
  JSON.stringify(["agent", session, connection, ...principal]);
const ownerOf = (principal: readonly string[]) => JSON.stringify(principal);

describe("an encrypted store", () => {
  let inner: SessionStore;
  let store: SessionStore;
  let unreadable: UnreadableValueReason[];

  const open = (more = {}) =>
    encryptStore(inner, {
      keys: { current },
      fingerprintKey,
      onUnreadable: (reason) => unreadable.push(reason),
      ...more,
    });
  const put = async (key: string, value: string, principal: readonly string[]) => {
    const answer = await store.put(key, { value }, null, { owner: ownerOf(principal) });
    if (!answer.ok) throw new Error("There is a value already.");
    return answer.revision;
  };
  const fill = async () => {
    for (const session of ["s1", "s10", "s2"]) {
      for (const connection of ["notes", "cart"]) {
        for (const principal of [alice, aliceB, app]) {
          await put(keyOf(session, connection, principal), connection, principal);
        }
      }
    }
  };
  const keysOf = async (query: object, limit = 100) => {
    const keys: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.list({ ...query, limit, cursor });
      keys.push(...page.records.map(({ key }) => key));
      cursor = page.cursor;
    } while (cursor !== undefined);
    return keys.toSorted();
  };

  beforeEach(() => {
    inner = createMemoryStore();
    unreadable = [];
    store = open();
  });

  test("tells the store under it no principal in a topic that is a key", async () => {
    const topics = { published: [] as string[], heard: [] as string[] };
    const listeners = new Map<string, () => void>();
    inner = {
      ...inner,
      async publish(topic) {
        topics.published.push(topic);
        listeners.get(topic)?.();
      },
      subscribe(topic, listener) {
        topics.heard.push(topic);
        listeners.set(topic, listener);
        return () => void listeners.delete(topic);
      },
    };
    store = open();
    let heard = 0;
    const topic = keyOf("s1", "notes", alice);
    const end = store.subscribe!(topic, () => (heard += 1));
    await expect.poll(() => topics.heard).toHaveLength(1);
    await store.publish!(topic);
    expect(heard).toBe(1);
    expect(topics.published).toEqual(topics.heard);
    expect(JSON.stringify(topics)).not.toContain("alice");
    end();
    store.subscribe!(topic, () => (heard += 1))();
    await store.publish!(topic);
    expect(heard).toBe(1);
    expect(topics.heard).toHaveLength(1);
  });

  test("tells the store under it nothing of values and principals", async () => {
    await put(keyOf("s1", "notes", alice), "secret-session", alice);
    const text = JSON.stringify(await inner.list({ limit: 10 }));
    expect(text).toContain('\\"agent\\",\\"s1\\",\\"notes\\"');
    for (const secret of ["alice", "idp.test", "user", "secret-session", 'value\\"']) {
      expect(text).not.toContain(secret);
    }
  });

  test("lists by session, by connection and by owner, with the keys and owners that were put", async () => {
    await fill();
    const expected = (session: string, connections = ["cart", "notes"]) =>
      connections
        .flatMap((connection) => [alice, aliceB, app].map((of) => keyOf(session, connection, of)))
        .toSorted();
    for (const limit of [1, 2, 100]) {
      expect(await keysOf({ prefix: '["agent","s1",' }, limit)).toEqual(expected("s1"));
      expect(await keysOf({ prefix: '["agent","s1","notes",' }, limit)).toEqual(
        expected("s1", ["notes"]),
      );
      expect(await keysOf({ prefix: '["agent","s1' }, limit)).toHaveLength(12);
      expect(await keysOf({ owner: ownerOf(alice) }, limit)).toHaveLength(6);
      expect(await keysOf({ owner: ownerOf(alice), prefix: '["agent","s2",' }, limit)).toEqual([
        keyOf("s2", "cart", alice),
        keyOf("s2", "notes", alice),
      ]);
    }
    const { records } = await store.list({ owner: ownerOf(app), limit: 1 });
    expect(records[0]).toMatchObject({ owner: ownerOf(app), value: { value: "notes" } });
  });

  test("knows the sessions that agents share", async () => {
    const key = JSON.stringify([null, "s1", "notes", ...alice]);
    await put(key, "secret-session", alice);
    expect(JSON.stringify(await inner.list({ limit: 10 }))).not.toContain("alice");
    expect(await keysOf({ prefix: '[null,"s1",', owner: ownerOf(alice) })).toEqual([key]);
    expect(await store.get(key)).toMatchObject({ value: { value: "secret-session" } });
  });

  test("lists by a prefix that names a part of the principal", async () => {
    await fill();
    for (const limit of [1, 2, 100]) {
      const prefix = keyOf("s1", "notes", alice).slice(0, -2);
      expect(await keysOf({ prefix }, limit)).toEqual(
        [keyOf("s1", "notes", alice), keyOf("s1", "notes", aliceB)].toSorted(),
      );
      expect(await keysOf({ prefix: keyOf("s1", "notes", alice) }, limit)).toEqual([
        keyOf("s1", "notes", alice),
      ]);
      expect(await keysOf({ prefix: '["agent","s1","notes","nobody' }, limit)).toEqual([]);
    }
  });

  test("knows the value again by a fingerprint that does not change with the keys", async () => {
    const key = keyOf("s1", "notes", alice);
    const revision = await put(key, "first", alice);
    const rotated = { keys: { current: randomKey(), previous: current } };
    store = open(rotated);
    expect(await store.get(key)).toEqual({ value: { value: "first" }, revision });
    expect(await keysOf({ owner: ownerOf(alice) })).toEqual([key]);
    expect((await store.put(key, 2, revision, { owner: ownerOf(alice) })).ok).toBe(true);
    store = open({ keys: { current: rotated.keys.current } });
    expect(await store.get(key)).toMatchObject({ value: 2 });
    expect(unreadable).toEqual([]);
  });

  test("finds nothing with another key for fingerprints", async () => {
    const key = keyOf("s1", "notes", alice);
    await put(key, "first", alice);
    store = open({ fingerprintKey: randomKey() });
    expect(await store.get(key)).toBeUndefined();
    expect(await keysOf({ owner: ownerOf(alice) })).toEqual([]);
  });

  test("reads what it cannot open as null, and says why; it can be replaced", async () => {
    const key = keyOf("s1", "notes", alice);
    const revision = await put(key, "first", alice);
    store = open({ keys: { current: randomKey() } });
    expect(await store.get(key)).toEqual({ value: null, revision });
    expect(unreadable).toEqual(["unknown-key"]);
    expect(await store.put(key, 2, null, { owner: "o" })).toEqual({
      ok: false,
      current: { value: null, revision },
    });
    expect((await store.put(key, 2, revision, { owner: ownerOf(alice) })).ok).toBe(true);
    expect(await store.get(key)).toMatchObject({ value: 2 });
  });

  test("lists what it cannot open under a key that deletes it", async () => {
    await put(keyOf("s1", "notes", alice), "first", alice);
    store = open({ keys: { current: randomKey() } });
    const { records } = await store.list({ prefix: '["agent","s1",', limit: 10 });
    expect(records).toMatchObject([{ value: null }]);
    const { key, revision, owner } = records[0]!;
    expect(key + owner).not.toContain("alice");
    expect(await store.delete(key, revision)).toEqual({ ok: true });
    expect((await inner.list({ limit: 10 })).records).toEqual([]);
  });

  test.each(["fingerprints", "readable keys"])(
    "with %s keeps values sealed, and bound to their keys",
    async (kind) => {
      const isReadable = kind === "readable keys";
      const onUnreadable = (reason: UnreadableValueReason) => unreadable.push(reason);
      if (isReadable) store = encryptValues(inner, { keys: { current }, onUnreadable });
      const [key, other] = [keyOf("s1", "notes", alice), keyOf("s1", "notes", aliceB)];
      await put(key, "of alice", alice);
      await put(other, "of alice-b", aliceB);
      const { records } = await inner.list({ limit: 10 });
      expect(JSON.stringify(records)).not.toContain("of alice");
      const [first, second] = records;
      expect([first!.key, second!.key].includes(key)).toBe(isReadable);
      await inner.put(second!.key, first!.value, second!.revision, { owner: second!.owner });
      expect(await store.get(other)).toMatchObject({ value: null });
      expect(unreadable).toEqual(["other-key"]);
      expect(await store.get(key)).toMatchObject({ value: { value: "of alice" } });
    },
  );

  test.each<[string, (sealed: string) => unknown, UnreadableValueReason]>([
    ["changed", (sealed) => `${sealed.slice(0, -10)}AAAA${sealed.slice(-6)}`, "tampered"],
    ["cut short", (sealed) => sealed.slice(0, 100), "malformed"],
    ["exchanged for a plain one", () => ({ kind: "session" }), "malformed"],
  ])("does not open a value that was %s", async (_, change, reason) => {
    const key = keyOf("s1", "notes", alice);
    await put(key, "first", alice);
    const [record] = (await inner.list({ limit: 10 })).records;
    const forged = change(record!.value as string) as string;
    await inner.put(record!.key, forged, record!.revision, { owner: "o" });
    expect(await store.get(key)).toMatchObject({ value: null });
    expect((await store.list({ limit: 10 })).records).toMatchObject([{ value: null }]);
    expect(unreadable).toEqual([reason, reason]);
  });

  test("says once on the console that there is a value without its key", async () => {
    const warn = vi.spyOn(console, "warn").mockReturnValue(undefined);
    await put(keyOf("s1", "notes", alice), "first", alice);
    store = open({ keys: { current: randomKey() }, onUnreadable: undefined });
    await store.list({ limit: 10 });
    await store.list({ limit: 10 });
    expect(warn.mock.calls).toEqual([[expect.stringContaining("cannot open (unknown-key)")]]);
    expect(String(warn.mock.calls)).not.toMatch(/s1|alice|first/);
    warn.mockRestore();
  });

  test("tells a stored null from what it cannot open", async () => {
    await store.put("null", null, null, { owner: "o" });
    expect(await store.get("null")).toMatchObject({ value: null });
    expect(unreadable).toEqual([]);
  });

  test("goes on when the observer throws", async () => {
    const key = keyOf("s1", "notes", alice);
    await put(key, "first", alice);
    store = open({
      keys: { current: randomKey() },
      onUnreadable: () => {
        throw new Error("The observer broke.");
      },
    });
    expect(await store.get(key)).toMatchObject({ value: null });
  });

  test("refuses with STATE_INVALID what is too long after it was compressed and sealed", async () => {
    const most = Array.from({ length: 14 }, () => randomText(50_000)).join("");
    expect((await store.put("most", most, null, { owner: "o" })).ok).toBe(true);
    expect((await store.get("most"))?.value).toBe(most);
    const nearly = Array.from({ length: 19 }, () => randomText(50_000)).join("");
    await expect(store.put("whole", nearly, null, { owner: "o" })).rejects.toMatchObject({
      code: "STATE_INVALID",
      data: { field: "value" },
    });
  });

  test.each([
    ["keys.current", { keys: { current: new Uint8Array(16) } }],
    ["keys.previous", { keys: { current, previous: "short" } }],
    ["keys", { keys: undefined }],
    ["keys.prev", { keys: { current, prev: current } }],
    ["fingerprintKey", { fingerprintKey: "short" }],
    ["onUnreadable", { onUnreadable: "warn" }],
    ["onUnreadble", { onUnreadble: () => undefined }],
  ])("refuses a wrong option: %s", (field, more) => {
    expect(() => open(more as never)).toThrow(
      expect.objectContaining({ code: "CONNECTION_INVALID", data: { field } }),
    );
  });

  test("refuses something that is no store", () => {
    expect(() => encryptStore({} as never, { keys: { current }, fingerprintKey: current })).toThrow(
      expect.objectContaining({ code: "CONNECTION_INVALID", data: { field: "store" } }),
    );
  });
});

/** Text that does not compress well. */
function randomText(length: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return Array.from(bytes, (byte) => String.fromCharCode(32 + (byte % 90))).join("");
}
