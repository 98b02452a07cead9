import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { assert, describe, expect, test, vi } from "vitest";
import { programArguments } from "../processes/programs.ts";
import { processesWith, supervisorsOf } from "../processes/marked-processes.ts";
import { callTool, hidden, openFixture, processCount, stdioFixture } from "./stdio-fixture.ts";

const program = new URL("./stdio-program.ts", import.meta.url);

/** Until nothing with the marker is there; what ends it is no child of this process. */
const untilNothingIsLeft = (marker: string) =>
  vi.waitFor(() => expect(processesWith(marker)).toEqual([]), { timeout: 20_000, interval: 20 });

// What is looked for is found in /proc, and promised on Linux only.
describe.skipIf(process.platform !== "linux")("nothing of a server is left", () => {
  test.each(["none", "sh", "sh -c"] as const)(
    "after dispose, with the server behind: %s",
    async (wrapper) => {
      const { marker, ...command } = stdioFixture("", wrapper);
      const { registry } = openFixture(command);
      await callTool(await registry.tools(), "start_processes");
      expect(processesWith(marker).length).toBeGreaterThanOrEqual(processCount);
      await registry.dispose();
      expect(processesWith(marker)).toEqual([]);
    },
  );

  test("after dispose, of one that ignores SIGTERM", async () => {
    const { registry, marker } = openFixture({ manner: "stubborn" });
    await callTool(await registry.tools(), "start_processes");
    await registry.dispose();
    expect(processesWith(marker)).toEqual([]);
  });

  test("after dispose while the handshake is under way", async () => {
    const { registry, marker } = openFixture({ manner: "silent" });
    const opening = Promise.allSettled([registry.client("fixture")]);
    await vi.waitFor(() => expect(processesWith(marker)).toHaveLength(processCount), {
      timeout: 20_000,
    });
    await registry.dispose();
    expect(await opening).toMatchObject([{ reason: { message: "The run is over." } }]);
    expect(processesWith(marker)).toEqual([]);
  });

  test("after a handshake that took too long", async () => {
    const { registry, marker } = openFixture({ manner: "silent", timeouts: { connectMs: 1_500 } });
    await expect(registry.client("fixture")).rejects.toThrow("within 1500 ms");
    await untilNothingIsLeft(marker);
    await registry.dispose();
  });

  test("after the server ended by itself and left others behind", async () => {
    await using fixture = openFixture({ manner: "spawn-and-exit" });
    await expect(fixture.registry.client("fixture")).rejects.toThrow("exit code 8");
    expect(processesWith(fixture.marker)).toEqual([]);
  });

  test("after the server was killed in use", async () => {
    await using fixture = openFixture();
    const tools = await fixture.registry.tools();
    await callTool(tools, "start_traceable_processes");
    await expect(callTool(tools, "die", { code: 1 })).rejects.toThrow("exit code 1");
    expect(processesWith(fixture.marker)).toEqual([]);
  });

  test("after its supervisor was killed", async () => {
    await using fixture = openFixture();
    const tools = await fixture.registry.tools();
    await callTool(tools, "start_traceable_processes");
    const waiting = Promise.allSettled([callTool(tools, "wait")]);
    await vi.waitFor(() => expect(fixture.events.at(-1)?.type).toBe("notification"));
    for (const pid of supervisorsOf(process.pid)) process.kill(pid, "SIGKILL");
    expect(await waiting).toMatchObject([
      {
        reason: {
          code: "OUTCOME_UNKNOWN",
          message: expect.stringContaining("together with its supervisor"),
        },
      },
    ]);
    await untilNothingIsLeft(fixture.marker);
    expect(fixture.takeEvents().map(({ type }) => type)).toEqual([
      "started",
      "notification",
      "lost",
    ]);
    await callTool(tools, "list_notes");
  });

  test.each([
    ["SIGTERM", "wait", "none"],
    ["SIGKILL", "wait", "none"],
    ["SIGKILL", "wait", "sh"],
    ["SIGINT", "wait", "none"],
    ["process.exit()", "exit", "none"],
    ["an uncaught error", "throw", "none"],
    ["nothing left to do, although it did not dispose of anything", "return", "none"],
  ] as const)(
    "after its program was ended by %s (%s), server behind: %s",
    async (how, ending, wrapper) => {
      const { marker, command, args } = stdioFixture("", wrapper);
      const child = spawn(
        process.execPath,
        [
          ...programArguments(program),
          command,
          // So that the program itself is not counted.
          hidden(args, marker),
          ending,
        ],
        { stdio: ["ignore", "pipe", "ignore"] },
      );
      const ended = once(child, "exit");
      const [line] = (await once(createInterface(child.stdout), "line")) as [string];
      expect(line).toBe("ready");
      if (ending === "wait") {
        assert(processesWith(marker).length >= processCount);
        child.kill(how);
      }
      await ended;
      await untilNothingIsLeft(marker);
    },
  );
});
