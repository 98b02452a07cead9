import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { processesWith, supervisorsOf } from "../processes/marked-processes.ts";
import {
  callForText,
  callTool,
  hostileCommand,
  openFixture,
  startHostile,
} from "./stdio-fixture.ts";

const states = () =>
  processesWith("hostile-server-program").map((pid) => readFileSync(`/proc/${pid}/stat`, "utf8"));

test.skipIf(process.platform !== "linux")(
  "a server that stops its supervisor is ended by the program",
  async () => {
    const fixture = await startHostile();
    const [pid] = supervisorsOf(process.pid);
    await callTool(fixture.tools, "stop_supervisor", { pid });
    expect(states()).not.toEqual([]);
    const begin = performance.now();
    await fixture.registry.dispose();
    expect(performance.now() - begin).toBeLessThan(6_000);
    expect(fixture.events.at(-1)).toMatchObject({ type: "close-failed", reason: "timeout" });
    await vi.waitFor(() => expect(states()).toEqual([]), { timeout: 10_000 });
  },
);

test("a server that does not read its stdin is sent no more than 64 MiB", async () => {
  await using fixture = await startHostile({ timeouts: { callMs: 3_000 } });
  await callTool(fixture.tools, "stop_reading");
  const text = "x".repeat(8 * 1024 * 1024);
  const calls = await Promise.allSettled(
    Array.from({ length: 12 }, () => callTool(fixture.tools, "echo_between", { text })),
  );
  const codes = calls.map((call) => call.status === "rejected" && call.reason.code);
  expect(codes.slice(0, 8)).toEqual(Array.from({ length: 8 }, () => "OUTCOME_UNKNOWN"));
  expect(codes.at(-1)).toBe("CONNECTION_UNAVAILABLE");
});

test("a line of 200 MiB, and as much on stderr, are not held", async () => {
  await using fixture = await startHostile();
  const before = process.memoryUsage().rss;
  const mebibytes = 200;
  expect(await callForText(fixture.tools, "print_long_line", { mebibytes })).toBe("printed");
  expect(await callForText(fixture.tools, "print_on_stderr", { mebibytes })).toBe("printed");
  expect(process.memoryUsage().rss - before).toBeLessThan(250 * 1024 * 1024);
  expect(fixture.events.at(-1)).toMatchObject({ type: "line-dropped", reason: "too-long" });
});

test.each(["", ">&2"])(
  "three million lines before the handshake do not hold it up %s",
  async (to) => {
    const { command, args } = hostileCommand();
    await using fixture = openFixture({
      command: "sh",
      args: ["-c", `yes x | head -n 3000000 ${to}; exec "$0" "$@"`, command, ...args],
    });
    expect(await fixture.registry.tools({ onUnavailable: "throw" })).toHaveProperty(
      "fixture__refuse",
    );
  },
);
