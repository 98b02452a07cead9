import { describe, expect, test, vi } from "vitest";
import { McpSessionError } from "../base/mcp-session-error.ts";
import type { SessionStore } from "./session-store.ts";
import { createDrivenStore } from "./driven-store.ts";
import { createMapDriver, losingAnswers } from "../../test/map-driver.ts";
import type { StoreDriver } from "./driver.ts";

const never = () => new Promise<never>(() => {});
const refusesLate = async () => {
  await new Promise((resolve) => {
    setTimeout(resolve, 40);
  });
  return false;
};
const nothing: StoreDriver = {
  name: "test",
  get: () => undefined,
  put: () => true,
  touch: () => undefined,
  delete: () => true,
  list: () => ({ records: [] }),
};

/** A store whose driver answers with what is given, and otherwise with nothing. */
const drive = (driver: Partial<StoreDriver>, now?: () => number) =>
  createDrivenStore({ ...nothing, ...driver }, now);

const failWith = (cause: unknown) => () => Promise.reject(cause);
const systemError = (code: string, syscall: string) =>
  Object.assign(new Error(`${syscall} ${code} 10.0.0.1:5432 secret`), { code, syscall });

const calls: Record<string, (store: SessionStore) => Promise<unknown>> = {
  get: (store) => store.get("k"),
  put: (store) => store.put("k", 1, null, { owner: "o" }),
  touch: (store) => store.touch("k", 1),
  delete: (store) => store.delete("k"),
  list: (store) => store.list({ limit: 1 }),
};

async function failureOf(store: SessionStore, operation: string): Promise<McpSessionError> {
  const error = await calls[operation]!(store).catch((reason: unknown) => reason);
  if (!McpSessionError.isInstance(error)) throw new Error("The call is to fail.");
  return error;
}

describe("a driver that never settles", () => {
  const slow = { get: never, put: never, touch: never, delete: never, list: never, timeoutMs: 20 };

  test.each(Object.keys(calls))("fails %s when the time is up", async (operation) => {
    const error = await failureOf(drive(slow), operation);
    expect(error).toMatchObject({ code: "STORE_FAILED", cause: { name: "TimeoutError" } });
    expect(error.message).toContain("(TIMEOUT): there was no answer in time.");
  });

  test("gets one time for a write and the look at what is in its way", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    try {
      const over = vi.fn<() => void>();
      void failureOf(drive({ put: refusesLate, get: never, timeoutMs: 60 }), "put").then(over);
      await vi.advanceTimersByTimeAsync(59);
      expect(over).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(over).toHaveBeenCalled();
    } finally {
      vi.useRealTimers();
    }
  });

  test("hears that the time is up", async () => {
    const aborted = Promise.withResolvers<unknown>();
    const get: StoreDriver["get"] = (_, __, signal) => {
      signal?.addEventListener("abort", () => aborted.resolve(signal.reason));
      return never();
    };
    await failureOf(drive({ get, timeoutMs: 20 }), "get");
    expect(await aborted.promise).toMatchObject({ name: "TimeoutError" });
  });
});

describe("the message of a failure", () => {
  const reset = failWith(systemError("ECONNRESET", "read"));

  test("says of a write whose answer was lost that nobody knows", async () => {
    for (const operation of ["put", "touch", "delete"]) {
      const { message } = await failureOf(drive({ [operation]: reset }), operation);
      expect(message).toBe(
        `The test store failed at ${operation} (ECONNRESET): the connection broke. Look why the database or the network closed it. It may have been done or not: read before you try again.`,
      );
    }
  });

  test("never says so of a read", async () => {
    const messages = [
      (await failureOf(drive({ get: reset }), "get")).message,
      (await failureOf(drive({ list: reset }), "list")).message,
      (await failureOf(drive({ put: () => false, get: reset }), "put")).message,
      (await failureOf(drive({ get: failWith(new Error("?")) }), "get")).message,
      (await failureOf(drive({ get: never, timeoutMs: 5 }), "get")).message,
    ];
    for (const message of messages) {
      expect(message).toMatch(/Nothing was read or changed\.$/);
      expect(message).not.toContain("may have");
    }
  });

  test.each<[unknown, string]>([
    [systemError("ECONNREFUSED", "connect"), "(ECONNREFUSED): nothing listens at its address."],
    [systemError("ETIMEDOUT", "connect"), "(ETIMEDOUT): there was no answer in time."],
    [systemError("ENOTFOUND", "getaddrinfo"), "(ENOTFOUND): its host name is unknown."],
    [{ code: "ERR_SQLITE_ERROR", errcode: 5 }, "(SQLITE_BUSY): another process kept the file"],
    [{ code: "ERR_SQLITE_ERROR", errcode: 517 }, "(SQLITE_BUSY)"],
    [{ code: "ERR_SQLITE_ERROR", errcode: 1032 }, "(SQLITE_READONLY): it only takes reads."],
    [{ code: "53300" }, "(53300): it has too many connections. Lower the max of your pools"],
    [{ code: "23502" }, "(23502)."],
    [{ message: "READONLY You can't write against a read only replica." }, "(READONLY): it only"],
    [{ message: "ERR script: @user_script:14: -OOM command not allowed" }, "(OOM)"],
    [{ message: "The client is closed" }, "(CLIENT_OFFLINE): its client is not connected."],
    [new Error("failed", { cause: { code: "28P01" } }), "(28P01): it refused the password."],
  ])("names a refusal, of which nothing was done: %o", async (cause, expected) => {
    const { message } = await failureOf(drive({ put: failWith(cause) }), "put");
    expect(message).toContain(expected);
    expect(message).toMatch(/Nothing was written\.$/);
    expect(message).not.toMatch(/secret|10\.0\.0\.1/);
  });

  test.each<[unknown]>([
    [systemError("ECONNRESET", "read")],
    [systemError("ETIMEDOUT", "read")],
    [{ code: "40003" }],
    [{ code: "EPIPE" }],
    [{ errcode: 10 }],
    [{ message: "NOPERM User has no permissions to run the 'hset' command" }],
    [{ message: "SECRET words" }],
    ["a text"],
    [null],
  ])("does not take this for a refusal: %o", async (cause) => {
    const { message } = await failureOf(drive({ put: failWith(cause) }), "put");
    expect(message).toContain("It may have been done or not");
    expect(message).not.toMatch(/SECRET|a text/);
  });
});

describe("the clock", () => {
  test.each([Number.NaN, Infinity, -1, "soon"])("cannot say %s", async (time) => {
    const get = vi.fn<StoreDriver["get"]>();
    const error = await failureOf(
      drive({ get }, () => time as number),
      "get",
    );
    expect(error).toMatchObject({ code: "CONNECTION_INVALID", data: { field: "now" } });
    expect(get).not.toHaveBeenCalled();
  });

  test("may have fractions of a millisecond", async () => {
    const get = vi.fn<StoreDriver["get"]>();
    await drive({ get }, () => 12.75).get("k");
    expect(get.mock.calls[0]?.[1]).toBe(12);
  });

  test("is a function", () => {
    expect(() => drive({}, 5 as never)).toThrow(
      expect.objectContaining({ code: "CONNECTION_INVALID", data: { field: "now" } }),
    );
  });
});

describe("a value that is not JSON", () => {
  const stored = { text: "not JSON", revision: "r" };

  test("is reported, to the driver or once on the console, without its content", async () => {
    const onUnreadable = vi.fn<() => void>();
    const found = await drive({ get: () => stored, onUnreadable }).get("k");
    expect(found?.value).toBeNull();
    expect(found?.value).toBeNull();
    expect(onUnreadable).toHaveBeenCalledTimes(1);

    const warn = vi.spyOn(console, "warn").mockReturnValue(undefined);
    const store = drive({ get: () => stored });
    expect(await store.get("the key")).toEqual({ value: null, revision: "r" });
    expect((await store.get("the key"))?.value).toBeNull();
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/^The test store has a value/)]]);
    expect(String(warn.mock.calls)).not.toMatch(/the key|not JSON"/);
    warn.mockRestore();
  });

  test("may be of any type", async () => {
    for (const text of [undefined, null, {}, new Uint8Array([1, 2])]) {
      const odd = { text: text as never, revision: "r" };
      const store = drive({ get: () => odd, onUnreadable: () => undefined });
      expect(await store.get("k")).toEqual({ value: null, revision: "r" });
    }
  });
});

describe("a client that loses an answer, and sends the write again,", () => {
  const store = createDrivenStore(losingAnswers(createMapDriver()));
  const owner = "o";

  test("finds its own write, which is no conflict", async () => {
    const answer = await store.put("k", 1, null, { owner });
    expect(answer).toMatchObject({ ok: true });
    const { revision } = answer as { revision: string };
    expect(await store.get("k")).toEqual({ value: 1, revision });
    expect(await store.put("k", 2, "another", { owner })).toMatchObject({ ok: false });
    expect(await store.put("k", 2, revision, { owner })).toMatchObject({ ok: true });
  });

  test("finds its own batch, wherever the first conflict is", async () => {
    const old = await store.put("old", 1, null, { owner });
    const ifRevision = (old as { revision: string }).revision;
    const answer = await store.batch!([
      { type: "delete", key: "old", ifRevision },
      { type: "put", key: "new", value: 1, ifRevision: null, owner },
    ]);
    expect(answer).toEqual({ ok: true, revisions: [undefined, expect.any(String)] });
    const refused = await store.batch!([
      { type: "put", key: "other", value: 1, ifRevision: null, owner },
      { type: "put", key: "new", value: 2, ifRevision: null, owner },
    ]);
    expect(refused).toMatchObject({ ok: false, index: 1, current: { value: 1 } });
    expect(await store.get("other")).toBeUndefined();
  });
});

test("a value that the database has no room for is refused, by bytes, before anything is sent", async () => {
  const driver = createMapDriver(20);
  const put = vi.spyOn(driver, "put");
  const store = createDrivenStore(driver);
  expect(store.maxBytes).toBe(20);
  const refused = { code: "STATE_INVALID", message: expect.stringContaining("20 bytes") };
  const owner = "o";
  await expect(store.put("k", "漢".repeat(7), null, { owner })).rejects.toMatchObject(refused);
  const write = { type: "put", key: "k", value: "x".repeat(19), ifRevision: null, owner } as const;
  await expect(store.batch!([write])).rejects.toMatchObject(refused);
  expect(put).not.toHaveBeenCalled();
  expect(await store.put("k", "漢".repeat(6), null, { owner })).toMatchObject({ ok: true });
});
