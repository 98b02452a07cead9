import { expect, test } from "vitest";
import { jsonLines, runDemo } from "../../test/run-demo.ts";

const demo = new URL("demo.ts", import.meta.url);

test("a call goes on when its function ends, and is lost with the AI SDK alone", async () => {
  const lines = jsonLines<{
    readonly with: string;
    readonly kind: string;
    readonly program: string;
    readonly requests: number;
    readonly call: string;
    readonly text: string;
    readonly pid: number;
  }>(await runDemo(demo, ["--json", "--work-ms", "8000"]));
  for (const kind of ["task", "stream"]) {
    const own = lines.filter((line) => line.kind === kind);
    const [asked, ...others] = own.filter((line) => line.with === "durable-mcp");
    const finished = others.pop();
    expect(asked).toMatchObject({ program: "step.ts", call: "goes on", text: "" });
    expect(new Set(others.map(({ program }) => program))).toEqual(new Set(["cron.ts"]));
    expect(others.at(-1)).toMatchObject({ call: "settled" });
    expect(finished).toMatchObject({ call: "settled", text: "Tea was first drunk in Yunnan." });
    const [alone] = own.filter((line) => line.with === "ai-sdk");
    expect(alone?.text).not.toContain("Yunnan");
  }
  expect(new Set(lines.map((line) => line.pid)).size).toBe(lines.length);
});
