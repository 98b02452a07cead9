import { mkdtempSync, readdirSync, rmSync, statSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createFolderStore } from "./folder-store.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-mcp-folder-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("one of several writers on a revision wins, and leaves no file of the others", async () => {
  const own = join(folder, "own");
  const stores = Array.from({ length: 4 }, () => createFolderStore(own));
  const race = (key: string, before: string | null) =>
    Promise.all(stores.map((store, n) => store.put(key, n, before, { owner: "o" })));
  const [first, ...others] = (await race("k", null)).filter(({ ok }) => ok);
  expect(others).toEqual([]);
  const second = await race("k", first!.ok ? first!.revision : null);
  expect(second.filter(({ ok }) => ok)).toHaveLength(1);
  await race("l", null);
  expect(readdirSync(join(own, "values"))).toHaveLength(2);
  expect(statSync(join(own, "values")).mode & 0o777).toBe(0o700);
  for (const key of ["k", "l"]) expect(await stores[0]!.delete(key)).toEqual({ ok: true });
  for (const name of ["keys", "values", "new"]) expect(readdirSync(join(own, name))).toEqual([]);
});

test("fails when the file of a value is missing", async () => {
  const own = join(folder, "damaged");
  const store = createFolderStore(own);
  await store.put("k", 1, null, { owner: "o" });
  for (const name of readdirSync(join(own, "values"))) unlinkSync(join(own, "values", name));
  await expect(store.get("k")).rejects.toMatchObject({ code: "STORE_FAILED" });
});
