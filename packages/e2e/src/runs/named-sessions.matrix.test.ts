import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { programArguments } from "../processes/programs.ts";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";

const program = new URL("./named-sessions-program.ts", import.meta.url);

let server: NotebookServer;
beforeAll(async () => {
  server = await startNotebookServer();
  return () => server.stop();
});

test("a named session lasts over processes, beside the one without a name", async () => {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-named-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const step = async (action: "create" | "use" | "end") => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...programArguments(program),
      server.url,
      join(folder, "sessions.db"),
      action,
    ]);
    return JSON.parse(stdout);
  };
  const first = await step("create");
  expect(first.list).toMatchObject([{ name: "research", connections: [{ kind: "session" }] }]);
  expect((await server.stats()).sessions).toBe(2);
  const second = await step("use");
  expect(second).toMatchObject({ notes: [String(first.pid), String(second.pid)], unnamed: "" });
  const third = await step("end");
  expect(third).toMatchObject({
    notes: [first, second, third].map(({ pid }) => String(pid)),
    ended: [{ name: "research", connection: "notes", ended: true }],
    list: [],
  });
  expect((await server.stats()).sessions).toBe(1);
});
