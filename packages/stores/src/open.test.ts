import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openStore } from "./open.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-mcp-open-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = join(folder, "sessions.db");

/** The client of `@libsql/client` on a file: there is no server here. */
const loadOnFile = async (name: string) => {
  const { createClient } = (await import(name)) as typeof import("@libsql/client");
  return { createClient: () => createClient({ url: `file:${join(folder, "libsql.db")}` }) };
};

test.each([
  [`file:${file}`, {}],
  [`file://${file}`, {}],
  [`sqlite:${file}`, {}],
  ["libsql://turso.test?authToken=secret", { loadDriver: loadOnFile }],
])("a store is opened at %s, with its table, and found again", async (address, options) => {
  const first = await openStore(address, options);
  const before = await first.store.get("k");
  const { revision = null } = before ?? {};
  expect(await first.store.put("k", address, revision, { owner: "o" })).toMatchObject({ ok: true });
  await first.close();
  const second = await openStore(address, options);
  expect(await second.store.get("k")).toMatchObject({ value: address });
  await second.close();
});

test.each([
  ["sessions.db", "must begin with file:"],
  ["mysql://me:secret@host/db", "must begin with file:"],
  ["postgres://me:secret/%@:x", "must be a URL"],
  ["libsql://h%@?authToken=secret", "must be a URL"],
])("another address is refused, and not repeated: %s", async (address, message) => {
  const error = await openStore(address).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "CONNECTION_INVALID", data: { field: "address" } });
  expect((error as Error).message).toContain(message);
  expect((error as Error).message).not.toContain("secret");
});

test.each(["postgres://me:secret@127.0.0.1:1/db", "redis://:secret@127.0.0.1:1"])(
  "a database that is not there is told, without its password: %s",
  async (address) => {
    const error = await openStore(address, { onError: () => undefined }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: "STORE_FAILED" });
    expect((error as Error).message).not.toContain("secret");
  },
);
