import { test } from "vitest";
import { jsonLines, runDemo } from "../../test/run-demo.ts";
import { expectDurable } from "./expect-durable.ts";

// `demo.matrix.test.ts` has a browser, PostgreSQL, and the same without durable-mcp.
test("keeps one session over a process a step and a kill of the host", async () => {
  const demo = new URL("demo.ts", import.meta.url);
  const args = ["--json", "--durable-only"];
  const [durable] = jsonLines(await runDemo(demo, args, { CHROMIUM_PATH: "none" }));
  expectDurable(durable, false);
});
