import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openFixture } from "../../e2e/src/stdio/stdio-fixture.ts";
import { call } from "../test/notebook-agent.ts";
import { loadSessionTools } from "./load-session-tools.ts";

describe("over stdio", () => {
  test("tools of one process, however many load and call at once", async () => {
    await using fixture = openFixture({ tools: { block: ["start_processes"] } });
    const loads = Array.from({ length: 20 }, () => loadSessionTools(fixture.registry));
    const [tools] = await Promise.all(loads);
    expect(tools!.map(({ name }) => name)).not.toContain("fixture__start_processes");
    await Promise.all(["a", "b", "c"].map((text) => call(tools!, "fixture__add_note", { text })));
    expect((await call(tools!, "fixture__list_notes")).content.split(", ").toSorted()).toEqual([
      ...["a", "b", "c"],
    ]);
    expect(fixture.takeEvents().filter(({ type }) => type === "started")).toHaveLength(1);
  });

  test("a process that died between calls is replaced, and the model is told", async () => {
    await using fixture = openFixture();
    const tools = await loadSessionTools(fixture.registry);
    await call(tools, "fixture__add_note", { text: "a" });
    await call(tools, "fixture__answer_and_die");
    await expect.poll(() => fixture.events.map(({ type }) => type)).toContain("lost");
    const { content, artifact } = await call(tools, "fixture__list_notes");
    expect(content).toMatch(/^Note: .* is gone; .*\n\n$/);
    expect(artifact).toEqual([{ type: "mcp_meta", data: { "durable-mcp/sessionReplaced": true } }]);
  });

  test("a call that the process died of is OUTCOME_UNKNOWN", async () => {
    await using fixture = openFixture();
    const tools = await loadSessionTools(fixture.registry);
    const error: any = await call(tools, "fixture__die", { code: 3 }).catch(
      (reason: unknown) => reason,
    );
    expect(error.name).toBe("ToolException");
    expect(error.cause).toMatchObject({ code: "OUTCOME_UNKNOWN", data: { connection: "fixture" } });
  });

  test("a safe tool runs once more on the next process", async () => {
    await using fixture = openFixture({ session: { resend: ["look"] } });
    const tools = await loadSessionTools(fixture.registry);
    const path = join(tmpdir(), fixture.marker);
    onTestFinished(() => rmSync(path, { force: true }));
    expect(await call(tools, "fixture__look", { path })).toMatchObject({
      content: expect.stringMatching(/seen$/) as unknown,
    });
  });
});
