import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { createProcessTree, readProcesses, readPs } from "./process-tree.ts";

const lives = "setInterval(() => {}, 1e6);";
const mark = () => randomUUID();

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
    const tree = createProcessTree(mark(), child.pid);
    expect([tree.isGone(), tree.isRootGone()]).toEqual([false, false]);
    child.kill("SIGKILL");
    await expect.poll(() => tree.isRootGone()).toBe(true);
    expect(tree.isGone()).toBe(false);
    tree.signal("SIGKILL");
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false));
    await expect.poll(() => tree.isGone()).toBe(true);
  });

  test("has a daemon that no process leads to, by the mark in its environment", async () => {
    const own = mark();
    const { child, pid } = await start(startDaemon(""), { DURABLE_MCP_STDIO: `${own}.1` });
    if (!ended(child)) await once(child, "exit");
    const other = createProcessTree(mark(), child.pid);
    expect(other.isGone()).toBe(true);
    const tree = createProcessTree(own, undefined);
    expect(tree.isGone()).toBe(false);
    tree.signal("SIGKILL");
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false));
  });

  test("keeps what it has seen when the processes in between have ended", async () => {
    const { child, pid } = await start(`${startDaemon("env: {}")} ${lives}`);
    const tree = createProcessTree(mark(), child.pid);
    const late = createProcessTree(mark(), child.pid);
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

test("a process that later has the number of the server is none of it", () => {
  const started = { pid: 7, parent: 1, group: 7, startedAt: "1", mark: "" };
  const other = { ...started, pid: 8, group: 8 };
  let entries = [started, other];
  const tree = createProcessTree(mark(), 7, { read: () => entries, forget: () => undefined });
  expect(tree.isGone()).toBe(false);
  entries = [other];
  expect(tree.isGone()).toBe(true);
  entries = [{ ...started, startedAt: "2" }, other];
  expect(tree.isGone()).toBe(true);
});

test.skipIf(process.platform !== "linux")("ps tells the same as /proc", async () => {
  const { child, pid } = await start(`console.log(process.pid); ${lives}`);
  const find = (table: ReturnType<typeof readPs>) => table.find((entry) => entry.pid === pid);
  expect(find(readPs())).toMatchObject({ pid, parent: process.pid });
  expect(find(readProcesses())).toMatchObject({ pid, parent: process.pid });
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(find(readPs())).toBeUndefined();
  expect(find(readProcesses())).toBeUndefined();
});

const isRunning = (pid: number) => readProcesses().some((entry) => entry.pid === pid);
