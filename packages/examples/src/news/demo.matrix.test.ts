import { expect, test } from "vitest";
import { jsonLines, runDemo } from "../../test/run-demo.ts";

const demo = new URL("demo.ts", import.meta.url);

test("a chat is woken by a resource that has changed while no process was alive", async () => {
  const lines = jsonLines<{
    readonly server: string;
    readonly program: string;
    readonly news: number;
    readonly pid: number;
  }>(await runDemo(demo, ["--json"]));
  for (const server of ["server-everything", "a board on the official SDK"]) {
    const own = lines.filter((line) => line.server === server);
    expect(own.map(({ program, news }) => [program, news])).toEqual([
      ["step.ts", 0],
      ["cron.ts", 1],
      ["step.ts", 1],
    ]);
  }
  expect(new Set(lines.map(({ pid }) => pid)).size).toBe(6);
});
