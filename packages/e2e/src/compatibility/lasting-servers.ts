import type { InputResponse } from "@durable-mcp/core/waiting";
import { packageBin, packageFile } from "../processes/package-bin.ts";
import { programArguments } from "../processes/programs.ts";
import { startEverythingServer } from "../servers/everything.ts";
import { startFixtureServer, startNotebookProgram } from "../servers/fixture-server.ts";
import { startSdkExampleServer } from "../servers/sdk-example.ts";
import { startServerProcess, type TestServer } from "../servers/server-process.ts";
import { extraPackages, extraProgram } from "./extra-packages.ts";
import { type LastingWay, lastingWays } from "./lasting-protocol.ts";

/** What is done with each server. */
export const lastingScenarios = ["left", "asks", "server restarted"] as const;
export type LastingScenario = (typeof lastingScenarios)[number];

interface LastingCall {
  tool: string;
  args: Record<string, unknown>;
  /** Part of the result. */
  expected: string;
}

/** A server whose calls outlive the process that makes them, with what it is expected to show. */
export interface LastingServer {
  name: string;
  /** The npm packages whose versions the page names, the server's own first. */
  packages: string[];
  /** The folder that they are in. @default that of this package */
  installed?: URL;
  /** What it is, where the name does not say so. */
  note?: string;
  type: "task" | "stream";
  /** Of which revision its tasks are, or its streams. */
  revision: "2025-11-25" | "2026-07-28";
  start: () => Promise<TestServer>;
  /** It takes some seconds. */
  call?: LastingCall;
  /** It asks a person. */
  asking?: LastingCall & { answer: InputResponse };
  /** Those in which its calls last. @default all that speak its revision */
  ways?: readonly LastingWay[];
  /** What is seen of it where it is not as with most. */
  exceptions?: Partial<Record<LastingScenario, string>>;
}

const accept = (content: Record<string, string | boolean>): InputResponse => ({
  ...{ action: "accept", content },
});
const ada = accept({ name: "Ada", email: "ada@example.com" });
const waits = (seconds: number): LastingCall => ({
  tool: "trigger-long-running-operation",
  args: { duration: seconds, steps: seconds },
  expected: "Long running operation completed.",
});
const research: LastingCall = {
  tool: "simulate-research-query",
  args: { topic: "tea", ambiguous: false },
  expected: "Research Report: tea",
};
const ofSessions = { revision: "2025-11-25" } as const;
const everything = { packages: ["@modelcontextprotocol/server-everything"], ...ofSessions };
const sdkV1 = { packages: ["@modelcontextprotocol/sdk"], ...ofSessions };

/** Those that come with the dependencies of this package. */
export const presentLastingServers: LastingServer[] = [
  {
    name: "SDK v2, tasks of 2026-07-28",
    packages: ["@modelcontextprotocol/server"],
    note: "ours, for the SDK has no tasks of this revision yet",
    ...{ type: "task", revision: "2026-07-28" },
    start: () => startFixtureServer("SDK v2, tasks", "sdk-v2-tasks-server.ts"),
    call: {
      ...{ tool: "research", expected: "All about tea." },
      args: { topic: "tea", delayMs: 4_000 },
    },
    asking: {
      ...{ tool: "research", expected: "All about tea in 1773." },
      args: { topic: "tea", delayMs: 1_000, asks: true },
      answer: accept({ year: "1773" }),
    },
  },
  {
    name: "server-everything, tasks",
    ...everything,
    type: "task",
    start: startEverythingServer,
    call: research,
    asking: {
      ...{ ...research, args: { topic: "python", ambiguous: true } },
      expected: "Research Report: python (",
      answer: accept({ interpretation: "programming" }),
    },
  },
  {
    name: "SDK v1 simpleStreamableHttp, tasks",
    ...sdkV1,
    type: "task",
    start: startSdkExampleServer,
    // Its `collect-user-info-task` asks on a stream that nobody reads, and its task does not say that it waits.
    call: { tool: "delay", args: { duration: 4_000 }, expected: "Completed 4000ms delay" },
  },
  {
    name: "SDK v1 simpleTaskInteractive",
    ...sdkV1,
    type: "task",
    note: "asks on the session's own stream",
    start: () =>
      startServerProcess({
        name: "SDK v1 simpleTaskInteractive",
        args: () => [
          packageFile(
            "@modelcontextprotocol/sdk",
            "dist/esm/examples/server/simpleTaskInteractive.js",
          ),
        ],
        env: (port) => ({ PORT: String(port) }),
      }),
    asking: {
      ...{ tool: "confirm_delete", args: { filename: "tea.txt" } },
      ...{ expected: "Deleted 'tea.txt'", answer: accept({ confirm: true }) },
    },
  },
  {
    name: "server-everything, streams",
    ...everything,
    type: "stream",
    note: "it answers a second GET, after the call has ended",
    start: startEverythingServer,
    call: waits(4),
    asking: {
      ...{ tool: "trigger-elicitation-request", args: {}, expected: "Ada" },
      answer: ada,
    },
  },
  {
    name: "SDK v1 simpleStreamableHttp, streams",
    ...sdkV1,
    type: "stream",
    start: startSdkExampleServer,
    call: {
      tool: "start-notification-stream",
      args: { interval: 1_000, count: 4 },
      expected: "Started sending periodic notifications every 1000ms",
    },
    asking: {
      ...{ tool: "collect-user-info", args: { infoType: "contact" } },
      ...{ expected: "ada@example.com", answer: ada },
    },
  },
  {
    name: "mcp-proxy + server-everything",
    ...{ ...ofSessions, type: "stream", packages: ["mcp-proxy", ...everything.packages] },
    note: "clients that probe choose its revision 2026-07-28, in which calls do not last",
    ways: ["@durable-mcp/ai-sdk", "@modelcontextprotocol/sdk"],
    start: () =>
      startServerProcess({
        name: "mcp-proxy + server-everything",
        args: (port) => [
          packageBin("mcp-proxy"),
          ...["--port", String(port), "--host", "127.0.0.1", "--server", "stream", "--"],
          ...[process.execPath, packageBin("@modelcontextprotocol/server-everything"), "stdio"],
        ],
      }),
    call: waits(4),
  },
  {
    name: "@durable-mcp/server",
    ...{ ...ofSessions, type: "stream", packages: ["@durable-mcp/server"] },
    note: "answers the AI SDK's own client with JSON, as its guide does, and such calls do not last",
    ways: lastingWays.filter((way) => way !== "@ai-sdk/mcp"),
    start: () =>
      startServerProcess({
        name: "@durable-mcp/server",
        args: (port) => [
          ...programArguments(
            new URL("../../../examples/src/servers/notes-server.ts", import.meta.url),
          ),
          String(port),
        ],
      }),
    call: { tool: "add_note", args: { text: "tea", delayMs: 4_000 }, expected: "notes" },
  },
];

/** Those that `npm run lab -- compatibility` installs for itself. */
const extraLastingServers: LastingServer[] = [
  {
    name: "fastmcp",
    ...{ ...ofSessions, type: "stream", packages: ["fastmcp"], installed: extraPackages },
    start: () =>
      startNotebookProgram({ name: "fastmcp", args: [extraProgram("fastmcp-server.mjs")] }),
    call: { tool: "slow_echo", args: { text: "tea", delayMs: 4_000 }, expected: "tea" },
  },
];

export const lastingServers: LastingServer[] = [...presentLastingServers, ...extraLastingServers];
