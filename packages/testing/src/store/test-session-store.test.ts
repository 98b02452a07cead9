import { describe, expect, test } from "vitest";
import { createMemoryStore } from "@durable-mcp/core";
import { McpSessionError } from "@durable-mcp/core";
import type { SessionStore, StoredRecord } from "@durable-mcp/core";
import { writeBatch } from "@durable-mcp/core/internal";
import { type OpenedStore, testSessionStore } from "./index.ts";

/** The suite's tests by their titles. */
function testsOf(open: () => OpenedStore): Map<string, () => Promise<void>> {
  const tests = new Map<string, () => Promise<void>>();
  testSessionStore({ test: (title, run) => tests.set(title, run), open });
  return tests;
}

/** All records of the memory store, which gives them in the order in which they were created. */
async function allOf(store: SessionStore): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: 1_000, cursor });
    records.push(...page.records);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return records;
}

/** A store whose methods all become `failure` when it is closed. */
const closing = (failure: () => Promise<never>) => () => {
  const store = createMemoryStore();
  const opened = { ...store };
  const close = async () => {
    for (const name of ["get", "put", "touch", "delete", "list", "batch", "publish"] as const) {
      Object.assign(opened, { [name]: failure });
    }
  };
  return { store: opened, close };
};

/** Ways to get a store wrong, and a test that has to notice. */
const broken: Record<string, { change: (store: SessionStore) => SessionStore; noticed: string }> = {
  "does not compare": {
    noticed: "answers with what is stored when another revision was expected",
    change: (store) => ({
      ...store,
      async put(key, value, _, options) {
        return store.put(key, value, (await store.get(key))?.revision ?? null, options);
      },
    }),
  },
  "compares first and sets later": {
    noticed: "lets one of many puts of one store through",
    change: (store) => ({
      ...store,
      async put(key, value, ifRevision, options) {
        const current = await store.get(key);
        if ((current?.revision ?? null) !== ifRevision) return { ok: false, current };
        await new Promise((resolve) => setTimeout(resolve, 5));
        return store.put(key, value, (await store.get(key))?.revision ?? null, options);
      },
    }),
  },
  "throws on a conflict": {
    noticed: "answers with what is stored when something is and nothing was expected",
    change: (store) => ({
      ...store,
      async put(...args) {
        const answer = await store.put(...args);
        if (!answer.ok) throw new McpSessionError("STORE_FAILED", "conflict");
        return answer;
      },
    }),
  },
  "gives a revision again": {
    noticed: "never gives a revision of a key a second time",
    change: (store) => {
      // As a hash of the value would be.
      const known = async (key: string) => {
        const stored = await store.get(key);
        return stored && { ...stored, shown: JSON.stringify(stored.value) };
      };
      return {
        ...store,
        async get(key) {
          const stored = await known(key);
          return stored && { value: stored.value, revision: stored.shown };
        },
        async put(key, value, ifRevision, options) {
          const stored = await known(key);
          if ((stored?.shown ?? null) !== ifRevision) return { ok: false, current: stored };
          await store.put(key, value, stored?.revision ?? null, options);
          return { ok: true, revision: JSON.stringify(value) };
        },
      };
    },
  },
  "changes the revision with a touch": {
    noticed: "keeps the revision when a value is touched",
    change: (store) => ({
      ...store,
      async touch(key, at) {
        const stored = await store.get(key);
        if (stored) await store.put(key, stored.value, stored.revision, { owner: "an owner" });
        await store.touch(key, at);
      },
    }),
  },
  "sets the last use back": {
    noticed: "says when a record was last touched, unless it was used later already",
    change: (store) => {
      const times = new Map<string, number>();
      return {
        ...store,
        async touch(key, at) {
          times.set(key, at);
          await store.touch(key, at);
        },
        async list(query) {
          const { records, cursor } = await store.list(query);
          const withTimes = records.map((record) => ({
            ...record,
            lastUsedAt: times.get(record.key) ?? record.lastUsedAt,
          }));
          return { records: withTimes, cursor };
        },
      };
    },
  },
  "takes a prefix for a pattern": {
    noticed: "takes a prefix literally",
    change: (store) => ({
      ...store,
      async list({ prefix = "", ...query }) {
        const escaped = prefix.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
        const pattern = new RegExp(`^${escaped.replaceAll("%", ".*").replaceAll("_", ".")}`, "s");
        const records = (await allOf(store)).filter(
          ({ key, owner, lastUsedAt }) =>
            pattern.test(key) &&
            owner === (query.owner ?? owner) &&
            lastUsedAt <= (query.idleSince ?? Infinity),
        );
        const from = Number(query.cursor ?? 0);
        const to = from + query.limit;
        const cursor = to < records.length ? String(to) : undefined;
        return { records: records.slice(from, to), cursor };
      },
    }),
  },
  "counts pages off from the start": {
    noticed: "lists a record that is there throughout exactly once while others write",
    change: (store) => ({
      ...store,
      async list({ cursor: from = "0", limit, prefix = "", owner, idleSince = Infinity }) {
        const records = (await allOf(store)).filter(
          (record) =>
            record.key.startsWith(prefix) &&
            record.owner === (owner ?? record.owner) &&
            record.lastUsedAt <= idleSince,
        );
        const to = Number(from) + limit;
        const cursor = to < records.length ? String(to) : undefined;
        return { records: records.slice(Number(from), to), cursor };
      },
    }),
  },
  "lists by the time of the last use": {
    noticed: "lists a record that is there throughout exactly once while others write",
    change: (store) => ({
      ...store,
      async list({ cursor = '[0,""]', limit, prefix = "", owner, idleSince = Infinity }) {
        const [time, last] = JSON.parse(cursor) as [number, string];
        const records = (await allOf(store))
          .filter(
            (record) =>
              record.key.startsWith(prefix) &&
              record.owner === (owner ?? record.owner) &&
              record.lastUsedAt <= idleSince &&
              (record.lastUsedAt > time || (record.lastUsedAt === time && record.key > last)),
          )
          .toSorted((a, b) => a.lastUsedAt - b.lastUsedAt || (a.key < b.key ? -1 : 1));
        const page = records.slice(0, limit);
        const end = page.at(-1);
        if (end === undefined || page.length === records.length) return { records: page };
        return { records: page, cursor: JSON.stringify([end.lastUsedAt, end.key]) };
      },
    }),
  },
  "gives what was just used for idle": {
    noticed: "finds what was last used at a time or before, and not what was used after",
    change: (store) => ({
      ...store,
      list: ({ idleSince, ...query }) =>
        store.list(idleSince === undefined ? query : { ...query, idleSince: idleSince + 1 }),
    }),
  },
  "has no order by last use for due/": {
    noticed: "finds by its last use what has a key that begins with due/, beside all others",
    change: (store) => ({
      ...store,
      list: ({ idleSince, ...query }) =>
        store.list({ ...query, ...(!query.prefix?.startsWith("due/") && { idleSince }) }),
    }),
  },
  "keeps what has expired": {
    noticed: "treats what was put after its end as absent",
    change: (store) => ({
      ...store,
      put: (key, value, ifRevision, { owner }) => store.put(key, value, ifRevision, { owner }),
    }),
  },
  "lists what has expired": {
    noticed: "lets the end of a value be set with the next put",
    change: (store) => {
      const expired = new Map<string, StoredRecord>();
      return {
        ...store,
        async put(key, value, ifRevision, options) {
          const answer = await store.put(key, value, ifRevision, options);
          const record = { key, value, owner: options.owner, lastUsedAt: 0, revision: "" };
          if (answer.ok && options.expiresAt === 0) expired.set(key, record);
          return answer;
        },
        async list(query) {
          const { records, cursor } = await store.list(query);
          const gone = [...expired.values()].filter(({ owner }) => owner === query.owner);
          return { records: [...records, ...gone].slice(0, query.limit), cursor };
        },
      };
    },
  },
  "makes half of a batch": {
    noticed: "makes none of a batch's writes if a condition does not hold, and names that one",
    change: (store) => ({
      ...store,
      batch: (writes) => writeBatch({ ...store, batch: undefined as never }, writes),
    }),
  },
  "checks a batch first and makes it later": {
    noticed: "lets one of many batches on the same keys through",
    change: (store) => ({
      ...store,
      async batch(writes) {
        for (const [index, { key, ifRevision }] of writes.entries()) {
          const current = await store.get(key);
          if ((current?.revision ?? null) !== ifRevision) return { ok: false, index, current };
        }
        const revisions: string[] = [];
        for (const write of writes) {
          if (write.type !== "put") throw new Error("not used");
          const { key, value, owner } = write;
          const before = await store.get(key);
          const answer = await store.put(key, value, before?.revision ?? null, { owner });
          revisions.push(answer.ok ? answer.revision : "");
        }
        return { ok: true, revisions };
      },
    }),
  },
  "names another condition of a batch": {
    noticed: "names the first of several conditions of a batch that do not hold",
    change: (store) => ({
      ...store,
      async batch(writes) {
        const answer = await store.batch!(writes);
        return answer.ok ? answer : { ...answer, index: 0 };
      },
    }),
  },
  "calls a subscriber that has gone": {
    noticed: "calls nobody after the end of a subscription, and everybody else still",
    change: (store) => ({
      ...store,
      subscribe(topic, listener) {
        store.subscribe!(topic, listener);
        return () => undefined;
      },
    }),
  },
  "cuts long values": {
    noticed: "holds a value of 1,000,000 characters of JSON, or of the store's maxBytes",
    change: (store) => ({
      ...store,
      put: (key, value, ifRevision, options) =>
        store.put(
          key,
          typeof value === "string" ? value.slice(0, 65_535) : value,
          ifRevision,
          options,
        ),
    }),
  },
  "cuts a key at U+0000": {
    noticed: "tells hostile keys apart",
    change: (store) => ({
      ...store,
      get: (key) => store.get(key.split("\0", 1)[0]!),
      put: (key, ...rest) => store.put(key.split("\0", 1)[0]!, ...rest),
    }),
  },
  "does not tell upper from lower case": {
    noticed: "tells hostile keys apart",
    change: (store) => ({
      ...store,
      get: (key) => store.get(key.toLowerCase()),
      put: (key, ...rest) => store.put(key.toLowerCase(), ...rest),
    }),
  },
};

test("has a title for each test", () => {
  const store = createMemoryStore();
  const titles: string[] = [];
  testSessionStore({ test: (title) => titles.push(title), open: () => ({ store }) });
  expect(new Set(titles).size).toBe(titles.length);
});

test.for([
  [{}, ["processes", "plant"]],
  [{ processes: false, plant: false }, []],
  [{ processes: { module: new URL("file:///store.js") }, plant: async () => {} }, []],
] as const)("shows what is left out with %o", ([options, shown]) => {
  const skipped: string[] = [];
  const declare = Object.assign(() => {}, { skip: (title: string) => skipped.push(title) });
  testSessionStore({ test: declare, open: () => ({ store: createMemoryStore() }), ...options });
  expect(skipped).toEqual(shown.map((option) => `left out, for want of the option ${option}`));
});

// That stores which are right pass is for their own tests to show.
describe("fails a store that", () => {
  test.for(Object.entries(broken))("%s", async ([, { change, noticed }]) => {
    const store = change(createMemoryStore());
    const open = () => ({ store });
    await expect(testsOf(open).get(noticed)?.()).rejects.toBeInstanceOf(Error);
    await expect(testsOf(() => ({ store: createMemoryStore() })).get(noticed)?.()).resolves.toBe(
      undefined,
    );
  });

  const noticed = "fails with STORE_FAILED when its connection was closed before it was used";

  test("works on when it was closed", async () => {
    const store = createMemoryStore();
    const open = () => ({ store, close: async () => {} });
    await expect(testsOf(open).get(noticed)?.()).rejects.toThrow("is to be rejected");
  });

  test("lets its driver's errors through", async () => {
    const open = closing(() => Promise.reject(new Error("closed")));
    await expect(testsOf(open).get(noticed)?.()).rejects.toThrow("not with");
  });

  test("repeats a key in a message", async () => {
    const cause = new Error("closed");
    const open = closing(() =>
      Promise.reject(new McpSessionError("STORE_FAILED", "No secret key here.", { cause })),
    );
    await expect(testsOf(open).get(noticed)?.()).rejects.toThrow("repeat nothing");
  });

  test("passes without the operations that a store may lack", async () => {
    const whole = Object.entries(createMemoryStore());
    const lacks = new Set(["batch", "publish", "subscribe"]);
    const store = Object.fromEntries(whole.filter(([name]) => !lacks.has(name)));
    const tests = [...testsOf(() => ({ store: store as unknown as SessionStore }))];
    const about = tests.filter(([title]) => /batch|notice|subscri|publish/.test(title));
    expect(about.length).toBeGreaterThan(10);
    for (const [, run] of about) await expect(run()).resolves.toBe(undefined);
  });

  test("passes when it fails as it should", async () => {
    const cause = new Error("closed");
    const open = closing(() => Promise.reject(new McpSessionError("STORE_FAILED", "x", { cause })));
    await expect(testsOf(open).get(noticed)?.()).resolves.toBe(undefined);
  });
});
