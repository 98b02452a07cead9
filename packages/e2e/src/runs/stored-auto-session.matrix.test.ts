import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { programArguments } from "../processes/programs.ts";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";

const program = new URL("./stored-auto-session-program.ts", import.meta.url);
/** Longer than any of it takes, and much shorter than the 5 minutes after which all is closed anyway. */
const endsWithinMs = 60_000;

let server: NotebookServer;
beforeAll(async () => {
  server = await startNotebookServer();
  return () => server.stop();
});

/** A script that runs every night, with a store of its own. */
function prepareScript() {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-auto-session-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const start = (note: string, manner = ""): ChildProcess => {
    const own = [server.url, join(folder, "sessions.db"), note, manner];
    const child = spawn(
      process.execPath,
      ["--unhandled-rejections=strict", ...programArguments(program), ...own],
      { stdio: ["ignore", "pipe", "pipe"], timeout: endsWithinMs },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  };
  /** Runs the script to its end. */
  const run = async (note: string, manner?: string) => {
    const before = (await server.stats()).requests;
    const child = start(note, manner);
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout!),
      text(child.stderr!),
      once(child, "exit") as Promise<[number | null]>,
    ]);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    const { requests, sessions } = await server.stats();
    const posts = (requests["POST"] ?? 0) - (before["POST"] ?? 0);
    return { lines: stdout.trim().split("\n"), posts, sessions };
  };
  return { start, run };
}

test("a script finds its session again the next time, with one request a call, until it ends it", async () => {
  const { run } = prepareScript();
  const first = await run("a");
  expect(first.lines).toEqual(["notes a", "draft 1 notes", "done"]);
  expect(first.sessions).toBe(2);
  const second = await run("b");
  expect(second).toEqual({ lines: ["notes a, b", "draft 2 notes", "done"], posts: 3, sessions: 2 });
  const last = await run("c", "end");
  expect(last).toEqual({
    lines: ["notes a, b, c", "draft 3 notes", "done"],
    posts: 3,
    sessions: 0,
  });
});

test("a script that was killed goes on in its session the next time", async () => {
  const { start, run } = prepareScript();
  const child = start("a", "killed");
  for await (const chunk of child.stdout!) if (String(chunk).includes("done")) break;
  child.kill("SIGKILL");
  await once(child, "exit");
  const next = await run("b", "end");
  expect(next.lines).toEqual(["notes a, b", "draft 2 notes", "done"]);
  expect(next.posts).toBe(3);
  expect(next.sessions).toBe(0);
});
