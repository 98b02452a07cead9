import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { processesWith } from "../processes/marked-processes.ts";
import { programArguments } from "../processes/programs.ts";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import { hidden, stdioFixture } from "../stdio/stdio-fixture.ts";

const program = new URL("./auto-session-program.ts", import.meta.url);
/** Longer than any of it takes, and much shorter than the 5 minutes after which all is ended anyway. */
const endsWithinMs = 60_000;

let server: NotebookServer;
beforeAll(async () => {
  server = await startNotebookServer();
  return () => server.stop();
});

/** Runs the script to its end. */
async function runScript(manner = "") {
  const { marker, command, args } = stdioFixture();
  const child = spawn(
    process.execPath,
    [
      "--unhandled-rejections=strict",
      ...programArguments(program),
      server.url,
      command,
      // So that the script itself is not counted.
      hidden(args, marker),
      manner,
    ],
    { stdio: ["ignore", "pipe", "pipe"], timeout: endsWithinMs },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit") as Promise<[number | null, string | null]>,
  ]);
  return { lines: stdout.trim().split("\n"), stderr, code, signal, marker };
}

const used = ["notes a", "plain b", 'isolated ""'];

// Each ends by itself, and its sessions on all servers with it.
test.each([
  ["", "with nothing more to do", ["done"]],
  // A listener of the script's own is told before the one that ends the sessions.
  [
    "last-use",
    "that uses its session once more before it ends, and is not cut off",
    ["done", "still a"],
  ],
  ["stuck", "that waits for what never comes", ["done"]],
  ["idle", "that was idle for long enough and makes new sessions", ["again", ...used, "done"]],
  ["listen", "that keeps a stream open and was idle for long enough", ["done"]],
])("(%s) a script %s leaves nothing", async (manner, _, last) => {
  const { lines, stderr, code, marker } = await runScript(manner);
  expect(stderr).toBe("");
  expect(lines).toEqual([...used, ...last]);
  expect(code).toBe(0);
  expect((await server.stats()).sessions).toBe(0);
  expect(processesWith(marker)).toEqual([]);
});

test("a script that uses nothing opens nothing", async () => {
  const before = (await server.stats()).requests;
  const { lines, code } = await runScript("unused");
  expect(lines).toEqual(["done"]);
  expect(code).toBe(0);
  expect((await server.stats()).requests).toEqual(before);
});

test.each([
  ["exit", 0],
  ["throw", 1],
])("a script that ends at once (%s) leaves no process behind", async (manner, expected) => {
  const { lines, code, marker } = await runScript(manner);
  expect(lines).toEqual(used);
  expect(code).toBe(expected);
  await vi.waitFor(() => expect(processesWith(marker)).toEqual([]), { timeout: 20_000 });
});
