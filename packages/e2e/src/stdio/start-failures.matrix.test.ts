import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { ConnectionRun } from "@durable-mcp/ai-sdk";
import { describe, expect, test } from "vitest";
import { processesWith } from "../processes/marked-processes.ts";
import {
  callForText,
  callTool,
  inFolder,
  killServer,
  openFixture,
  stdioFixture,
} from "./stdio-fixture.ts";

describe("a server that does not come up", () => {
  test("because there is no such command", async () => {
    await using fixture = openFixture({ command: "no-such-command" });
    expect(await failureOf(fixture.registry)).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      message:
        "Connection fixture: the server stdio:no-such-command could not be started: there is no command no-such-command. Install it, give its full path, or set PATH in env.",
      data: { connection: "fixture", field: "command" },
    });
  });

  test("because the command is no program, or cwd no directory", async () => {
    await using file = openFixture({ command: import.meta.filename });
    expect(await failureOf(file.registry)).toMatchObject({
      message: expect.stringContaining("(EACCES)"),
    });
    await using folder = openFixture({ cwd: "/no/such/folder" });
    expect(await failureOf(folder.registry)).toMatchObject({
      message: expect.stringContaining("cwd /no/such/folder is not a directory"),
      data: { field: "cwd" },
    });
  });

  test("because its arguments are too long for the system", async () => {
    const secret = randomUUID();
    await using fixture = openFixture({ args: ["x".repeat(300_000)], env: { API_KEY: secret } });
    const error = await failureOf(fixture.registry);
    expect(error).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      message: expect.stringContaining("could not be started (E2BIG)"),
    });
    expect(error.message).not.toContain(secret);
  });

  test("because it ends at once: with exit code and stderr, without colours and secrets", async () => {
    const secret = randomUUID();
    await using fixture = openFixture({ manner: "exit", env: { API_KEY: secret } });
    const tools = await fixture.registry.tools();
    expect(tools).toEqual({});
    expect(fixture.takeEvents()).toMatchObject([
      {
        type: "unavailable",
        error: {
          code: "CONNECTION_UNAVAILABLE",
          message: expect.stringMatching(
            /ended with exit code 7 before .*\nNo config\. The key is \[redacted\]\.$/s,
          ),
        },
      },
    ]);
  });

  test("because it never answers, and quotes what it printed", async () => {
    await using fixture = openFixture({
      command: "sh",
      args: ["-c", "echo Waiting for a database. >&2; while read -r line; do :; done"],
      timeouts: { connectMs: 2_000 },
    });
    expect(await failureOf(fixture.registry)).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      message: expect.stringMatching(/within 2000 ms.*Waiting for a database\.$/s),
    });
  });

  test("because it is no MCP server, and quotes its stdout", async () => {
    await using fixture = openFixture({
      command: "sh",
      args: ["-c", "echo Usage: tool FILE; exec cat >/dev/null"],
      timeouts: { connectMs: 2_000 },
    });
    expect(await failureOf(fixture.registry)).toMatchObject({
      message: expect.stringMatching(/On stdout, where only messages belong:\nUsage: tool FILE$/),
    });
  });

  test("because onStart fails: the process ends, and the next use tries again", async () => {
    let starts = 0;
    await using fixture = openFixture({
      session: {
        onStart() {
          starts += 1;
          if (starts === 1) throw new Error("No workspace.");
        },
      },
    });
    expect(await failureOf(fixture.registry)).toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
      data: { field: "onStart" },
      cause: { message: "No workspace." },
    });
    expect(fixture.takeEvents().map(({ type }) => type)).toEqual(["start-failed"]);
    await fixture.registry.client("fixture");
    expect(processesWith(fixture.marker)).toHaveLength(1);
  });

  test("a second time, is SESSION_LOST with why", async () => {
    await inFolder(async (folder) => {
      const flag = join(folder, "gone");
      const { command, args } = stdioFixture();
      await using other = openFixture({
        command: "sh",
        args: [
          "-c",
          `[ -e ${flag} ] && { echo Gone. >&2; exit 4; }; touch ${flag}; exec "$0" "$@"`,
          command,
          ...args,
        ],
      });
      const tools = await other.registry.tools();
      await killServer(other, await callForText(tools, "pid"));
      await expect(callTool(tools, "list_notes")).rejects.toMatchObject({
        code: "SESSION_LOST",
        message: expect.stringMatching(/could not be started again.* exit code 4 .*\nGone\.$/s),
        cause: { code: "CONNECTION_UNAVAILABLE" },
      });
    });
  });
});

const failureOf = async (registry: ConnectionRun<any>): Promise<any> =>
  await registry.client("fixture").then(
    () => undefined,
    (error: unknown) => error,
  );
