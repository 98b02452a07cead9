import { createFaultyProxy } from "@durable-mcp/testing";
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import type { AuthorizationServer } from "../authorization/authorization-server.ts";
import { startAuthorizationServer } from "../authorization/authorization-server.ts";
import { startLockedServer } from "../authorization/locked-server.ts";
import { discover, register, signInForTokens } from "../authorization/sign-in-by-hand.ts";
import { packageBin } from "../processes/package-bin.ts";
import { playwright } from "../stateful/stateful-servers.ts";
import { presentServers } from "./present-servers.ts";
import { probeSurprises } from "./probe-servers.ts";

// `npm run lab -- compatibility` compares what the probe says of all servers of the page; here it is its program, and the
// servers with a kind of their own.

const main = fileURLToPath(new URL("../../../cli/src/main.ts", import.meta.url));

/** Runs `durable-mcp probe` in a process of its own. */
function startProbe(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const strip = process.features.typescript ? [] : ["--experimental-strip-types"];
  return spawn(
    process.execPath,
    [...strip, "--conditions=@durable-mcp/source", main, "probe", ...args],
    { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] },
  );
}

async function probe(args: readonly string[], env: Record<string, string> = {}) {
  const child = startProbe(["--json", ...args], env);
  let stdout = "";
  let stderr = "";
  child.stdout!.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr!.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const exitCode = await new Promise((resolve) => child.once("close", resolve));
  return { exitCode, stdout, stderr, seen: JSON.parse(stdout) as unknown };
}

test.each(presentServers.filter(({ kind }) => kind !== "sessions"))(
  "says of $name what the matrix has recorded",
  { timeout: 60_000 },
  async (stateful) => {
    const server = await stateful.start();
    onTestFinished(() => server.stop());
    expect(await probeSurprises(stateful, server.url)).toEqual([]);
  },
);

test.skipIf(playwright.unavailable !== undefined)(
  "finds that Playwright's sessions end with their listening stream",
  { timeout: 60_000 },
  async () => {
    const server = await playwright.start();
    onTestFinished(() => server.stop());
    const args = [server.url, "--call", "browser_tabs", "--args", '{"action":"list"}'];
    const { exitCode, seen } = await probe([...args, "--call-timeout", "5"]);
    expect(exitCode).toBe(0);
    expect(seen).toMatchObject({
      isUsable: true,
      session: "stateful",
      facts: {
        call: { name: "browser_tabs", isError: false },
        listening: { offered: true, survives: false },
        resumedRequests: 1,
      },
      definition: expect.stringContaining('session: "stateful"'),
    });
  },
);

test("ends its sessions when it is interrupted", { timeout: 60_000 }, async () => {
  const stateful = presentServers.find(({ name }) => name === "notebook (SSE)")!;
  const server = await stateful.start();
  onTestFinished(() => server.stop());
  const proxy = await createFaultyProxy({ target: server.url });
  onTestFinished(() => proxy.close());
  const child = startProbe([proxy.url, "--watch", "60"]);
  let stderr = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    if (text.includes("an ended id")) setTimeout(() => child.kill("SIGINT"), 500);
  });
  expect(await new Promise((resolve) => child.once("close", resolve))).toBe(1);
  expect(stderr).toContain("Interrupted");
  const requests = proxy.requests.splice(0);
  const count = (match: (request: (typeof requests)[number]) => boolean) =>
    requests.filter(match).length;
  const made = count(({ rpcMethod, status }) => rpcMethod === "initialize" && status === 200);
  expect(made).toBeGreaterThan(3);
  expect(count(({ httpMethod }) => httpMethod === "DELETE")).toBe(made);
});

test("asks a program over stdin and stdout", { timeout: 60_000 }, async () => {
  const program = [
    process.execPath,
    packageBin("@modelcontextprotocol/server-everything"),
    "stdio",
  ];
  const { exitCode, seen } = await probe(["--", ...program]);
  expect(exitCode).toBe(0);
  expect(seen).toMatchObject({
    isUsable: true,
    facts: { handshake: { version: "2025-11-25" }, tools: { listChanged: true } },
    definition: expect.stringContaining("defineMcpStdioConnection"),
  });
});

async function tokenOf({ issuer }: AuthorizationServer, resource: string) {
  const server = await discover(issuer);
  return (await signInForTokens(server, await register(server), resource)).access_token;
}

describe("a server that wants a sign-in", () => {
  test("says where, and with a token the rest", { timeout: 60_000 }, async () => {
    const authorization = await startAuthorizationServer();
    onTestFinished(() => authorization.stop());
    const locked = await startLockedServer({ sdk: 1, issuer: authorization.issuer });
    onTestFinished(() => locked.stop());

    const before = await probe([locked.url]);
    expect(before.exitCode).toBe(1);
    expect(before.stderr).toContain("It wants a sign-in");
    expect(before.seen).toMatchObject({
      auth: "oauth",
      facts: {
        authorization: {
          issuer: authorization.issuer,
          scopes: expect.arrayContaining(["notes:read"]),
          registration: expect.arrayContaining(["dynamic", "pre-registered"]),
        },
      },
    });

    const token = await tokenOf(authorization, locked.url);
    const after = await probe([locked.url, "--watch", "1"], { DURABLE_MCP_BEARER: token });
    expect(after.exitCode).toBe(0);
    expect(after.seen).toMatchObject({ isUsable: true, facts: { resumedRequests: 1 } });
    expect(after.stdout + after.stderr).not.toContain(token);
  });
});
