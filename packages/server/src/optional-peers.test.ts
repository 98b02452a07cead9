import { readFile, readdir } from "node:fs/promises";
import { expect, test } from "vitest";

// A program has the SDK of its servers, and perhaps not the other one.
test("no file of the package imports an SDK, but that of ./tasks", async () => {
  const folder = new URL(".", import.meta.url);
  const names = await readdir(folder, { recursive: true });
  const files = names.filter((name) => name.endsWith(".ts") && !/\.test(-d)?\.ts$/.test(name));
  expect(files.length).toBeGreaterThan(40);
  const importing = [];
  const importingTasks = [];
  for (const file of files) {
    const text = await readFile(new URL(file, folder), "utf8");
    if (/^(?:import|export|\} from) .*"@modelcontextprotocol\/|import\("@modelc/m.test(text)) {
      importing.push(file);
    }
    if (text.includes("/serve-tasks.ts")) importingTasks.push(file);
  }
  expect(importing).toEqual(["tasks/serve-tasks.ts"]);
  expect(importingTasks).toEqual(["tasks.ts"]);
});
