import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { createProcessTree, readProcessTable, readPs } from "./process-tree.ts";

const lives = "setInterval(() => {}, 1e6);";
const mark = () => `DURABLE_MCP_STDIO=${randomUUID()}`;

/** A process that runs a program for `node -e`, which prints a pid when it is ready. */
async function start(program: string, env: Record<string, string> = {}) {
  const child: ChildProcess = spawn(process.execPath, ["-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"], ...env },
  });
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  return { child, pid: Number(line.toString()) };
}

const startDaemon = (options: string) => `
  const child = require("node:child_process").spawn(
    process.execPath, ["-e", ${JSON.stringify(`console.log(process.pid); ${lives}`)}],
    { stdio: ["ignore", "inherit", "ignore"], detached: true, ${options} });
  child.unref();`;

const ended = ({ exitCode, signalCode }: ChildProcess) => (exitCode ?? signalCode) !== null;

describe.skipIf(process.platform !== "linux")("a process tree", () => {
  test("has the descendants, also those in sessions of their own without an environment", async () => {
    const { child, pid } = await start(`${startDaemon("env: {}")} ${lives}`);
    const tree = createProcessTree(child.pid!, mark());
    expect(tree.isGone()).toBe(false);
    tree.signal("SIGKILL");
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false));
    expect(tree.isGone()).toBe(true);
    // The root is not part of it.
    expect(ended(child)).toBe(false);
    child.kill("SIGKILL");
  });

  test("has a daemon that no process leads to, by the mark in its environment", async () => {
    const own = mark();
    const { child, pid } = await start(startDaemon(""), { DURABLE_MCP_STDIO: own.split("=")[1]! });
    if (!ended(child)) await once(child, "exit");
    const other = createProcessTree(child.pid!, mark());
    expect(other.isGone()).toBe(true);
    const tree = createProcessTree(child.pid!, own);
    expect(tree.isGone()).toBe(false);
    tree.signal("SIGKILL");
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false));
  });

  test("keeps what it has seen when the processes in between have ended", async () => {
    const { child, pid } = await start(`${startDaemon("env: {}")} ${lives}`);
    const tree = createProcessTree(process.pid, mark());
    const late = createProcessTree(process.pid, mark());
    tree.note();
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(late.isGone()).toBe(true);
    expect(tree.isGone()).toBe(false);
    tree.signal("SIGKILL");
    await vi.waitFor(() => expect(tree.isGone()).toBe(true));
    expect(isRunning(pid)).toBe(false);
  });
});

test.skipIf(process.platform !== "linux")("ps tells the same as /proc", async () => {
  const { child, pid } = await start(`console.log(process.pid); ${lives}`);
  const find = (table: ReturnType<typeof readPs>) => table.find((entry) => entry.pid === pid);
  expect(find(readPs())).toMatchObject({ pid, parent: process.pid });
  expect(find(readProcessTable())).toMatchObject({ pid, parent: process.pid });
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(find(readPs())).toBeUndefined();
  expect(find(readProcessTable())).toBeUndefined();
});

const isRunning = (pid: number) => readProcessTable().some((entry) => entry.pid === pid);
