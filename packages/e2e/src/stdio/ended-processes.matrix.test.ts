import { processesWith } from "../processes/marked-processes.ts";
import { describe, expect, test } from "vitest";
import { callForText, callTool, openHostile, startHostile } from "./stdio-fixture.ts";

const echo = { text: "a" };

describe("a server whose process goes on and that", () => {
  test("closes its stdout, is ended at once", async () => {
    await using fixture = await startHostile();
    await expect(callTool(fixture.tools, "close_stdout")).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
      message: expect.stringContaining("the server closed its stdout and was ended"),
    });
    expect(await callForText(fixture.tools, "echo_between", echo)).toBe("a");
    expect(fixture.events.map(({ type }) => type)).toEqual(["started", "lost", "recovered"]);
  });

  test("closes its stdin, is ended with the next call", async () => {
    await using fixture = await startHostile();
    await callTool(fixture.tools, "close_stdin");
    await expect(callTool(fixture.tools, "echo_between", echo)).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
    });
    expect(await callForText(fixture.tools, "echo_between", echo)).toBe("a");
  });

  test("asks without end, is answered a thousand questions at a time", async () => {
    await using fixture = await startHostile();
    expect(await callForText(fixture.tools, "ask_often", { times: 20_000 })).toBe("asked");
    expect(fixture.events).toContainEqual({
      type: "line-dropped",
      connection: "fixture",
      reason: "too-many",
    });
    expect(await callForText(fixture.tools, "echo_between", echo)).toBe("a");
  });

  test("is stopped, is ended by dispose", async () => {
    const fixture = await startHostile();
    const waiting = Promise.allSettled([callTool(fixture.tools, "stop_itself")]);
    await fixture.registry.dispose();
    expect(await waiting).toMatchObject([{ reason: { code: "OUTCOME_UNKNOWN" } }]);
  });
});

test("a process that holds the stdout of an ended server holds up no call", async () => {
  await using fixture = await startHostile();
  const seconds = 20 + Math.random();
  const begin = performance.now();
  await expect(callTool(fixture.tools, "end_and_leave", { seconds })).rejects.toMatchObject({
    code: "OUTCOME_UNKNOWN",
    message: expect.stringContaining("exit code 3"),
  });
  expect(performance.now() - begin).toBeLessThan(15_000);
  for (const pid of processesWith(String(seconds))) process.kill(pid, "SIGKILL");
});

const never = () => new Promise<string>(() => undefined);

test("functions of env have as long as the handshake", async () => {
  await using fixture = openHostile([], { env: { KEY: never }, timeouts: { connectMs: 200 } });
  await expect(fixture.registry.client("fixture")).rejects.toMatchObject({
    code: "CONNECTION_UNAVAILABLE",
    data: { field: "env" },
  });
});

test("arguments that are no JSON are not waited for", async () => {
  await using fixture = await startHostile();
  await expect(callTool(fixture.tools, "echo_between", { text: 1n })).rejects.toThrow("BigInt");
  expect(await callForText(fixture.tools, "echo_between", echo)).toBe("a");
});
