import { startEverythingServer } from "../servers/everything.ts";
import { startMemoryBehindProxy } from "../servers/memory-behind-proxy.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import { findChromium } from "../../../examples/src/programs/find-chromium.ts";
import { startPlaywrightServer } from "../servers/playwright.ts";
import { startSdkExampleServer } from "../servers/sdk-example.ts";
import { startSdkV2RoutedServer } from "../servers/sdk-v2.ts";
import type { TestServer } from "../servers/server-process.ts";
import type { StepCall } from "../steps/step-protocol.ts";

/** A call and the text that its answer must hold. */
export interface ExpectedCall extends StepCall {
  expected: string;
}

/** A server with sessions, and how to see that a session is the same one. */
export interface StatefulServer {
  name: string;
  start: () => Promise<TestServer>;
  /** Why it cannot run on this machine. */
  unavailable?: string;
  /** Makes state that only `tag` belongs to. */
  makeState: (tag: string) => ExpectedCall[];
  /** Sees that state in the second and third step; one call each. */
  seeState: (tag: string) => [ExpectedCall, ExpectedCall];
  /** The n-th of many independent calls, with an answer of its own. */
  independentCall: (tag: string, n: number) => ExpectedCall;
  /** The same, answered after about this time; needed to make answers overlap. */
  slowCall?: (tag: string, n: number, delayMs: number) => ExpectedCall;
}

const chromium = findChromium();

const everything: StatefulServer = {
  name: "server-everything",
  start: startEverythingServer,
  // Each toggle is kept per session: a fresh session would answer "Started" again.
  makeState: () => [
    { tool: "toggle-simulated-logging", args: {}, expected: "Started" },
    { tool: "toggle-subscriber-updates", args: {}, expected: "Started" },
  ],
  seeState: () => [
    { tool: "toggle-simulated-logging", args: {}, expected: "Stopped" },
    { tool: "toggle-subscriber-updates", args: {}, expected: "Stopped" },
  ],
  independentCall: (tag, n) => ({
    tool: "echo",
    args: { message: `${tag}-${n}.` },
    expected: `Echo: ${tag}-${n}.`,
  }),
  slowCall: (tag, n, delayMs) => {
    // Its answer repeats the duration only: the digits after the milliseconds say whose call it is.
    const duration = Number(
      `${(delayMs / 1000).toFixed(3)}${digits(tag)}${String(n).padStart(3, "0")}1`,
    );
    return {
      tool: "trigger-long-running-operation",
      args: { duration, steps: 1 },
      expected: `Duration: ${duration} seconds`,
    };
  },
};

export const playwright: StatefulServer = {
  name: "@playwright/mcp",
  start: () => startPlaywrightServer(chromium ?? ""),
  ...(chromium === undefined && { unavailable: "no Chromium found in PATH or CHROMIUM_PATH" }),
  makeState: (tag) => [
    {
      tool: "browser_navigate",
      args: { url: `data:text/html,<title>${tag}</title>` },
      expected: tag,
    },
  ],
  seeState: (tag) => [
    { tool: "browser_evaluate", args: { function: "() => document.title" }, expected: tag },
    {
      tool: "browser_evaluate",
      args: { function: "() => document.title.length" },
      expected: String(tag.length),
    },
  ],
  independentCall: (tag, n) => ({
    tool: "browser_evaluate",
    args: { function: `() => ["${tag}", ${n}].join("/")` },
    expected: `"${tag}/${n}"`,
  }),
};

const memoryItems = ["item-a", "item-b", "item-c", "item-d", "item-e", "item-f"];

const memory: StatefulServer = {
  name: "mcp-proxy + server-memory",
  start: startMemoryBehindProxy,
  makeState: (tag) => [createEntities([tag, ...memoryItems])],
  seeState: (tag) => [
    { tool: "search_nodes", args: { query: tag }, expected: tag },
    { tool: "open_nodes", args: { names: [tag] }, expected: tag },
  ],
  // Reads only: it loses one of two writes that overlap, whatever the session.
  independentCall: (_tag, n) => {
    const name = memoryItems[n % memoryItems.length] ?? "";
    return { tool: "open_nodes", args: { names: [name] }, expected: name };
  },
};

const sdkExample: StatefulServer = {
  name: "SDK v1 simpleStreamableHttp",
  start: startSdkExampleServer,
  ...onlyTheSession((tag, n) => greet(`${tag}-${n}.`)),
  slowCall: (tag, n, delayMs) => {
    const interval = Number(`${delayMs}.${digits(tag)}${String(n).padStart(3, "0")}1`);
    return {
      tool: "start-notification-stream",
      args: { interval, count: 1 },
      expected: `every ${interval}ms`,
    };
  },
};

const sdkV2Routed = notebookLike("SDK v2 with isLegacyRequest", startSdkV2RoutedServer);
const notebook = notebookLike("notebook (SSE)", () => startNotebookServer());
const notebookJson = notebookLike("notebook (JSON)", () => startNotebookServer({ json: true }));

export const statefulServers = [
  everything,
  playwright,
  memory,
  sdkExample,
  sdkV2Routed,
  notebook,
  notebookJson,
];

/** What can run on every machine. */
export const serversWithoutBrowser = statefulServers.filter((server) => server !== playwright);

/** A call of the notebook servers that needs no state. */
export function echoCall(text: string): ExpectedCall {
  return { tool: "echo", args: { text }, expected: text };
}

/** For a server that keeps nothing in a session but the session, which it looks up for every request. */
export function onlyTheSession(
  call: StatefulServer["independentCall"],
): Pick<StatefulServer, "makeState" | "seeState" | "independentCall"> {
  return {
    makeState: (tag) => [call(tag, 1)],
    seeState: (tag) => [call(tag, 2), call(tag, 3)],
    independentCall: call,
  };
}

export function notebookLike(name: string, start: () => Promise<TestServer>): StatefulServer {
  return {
    name,
    start,
    makeState: (tag) => [{ tool: "add_note", args: { text: tag }, expected: "1 notes" }],
    seeState: (tag) => [
      { tool: "list_notes", args: {}, expected: tag },
      { tool: "add_note", args: { text: "more" }, expected: "2 notes" },
    ],
    independentCall: (tag, n) => echoCall(`${tag}-${n}.`),
    slowCall: (tag, n, delayMs) => ({
      tool: "slow_echo",
      args: { text: `slow ${tag}-${n}.`, delayMs },
      expected: `slow ${tag}-${n}.`,
    }),
  };
}

function greet(name: string): ExpectedCall {
  return { tool: "greet", args: { name }, expected: `Hello, ${name}!` };
}

function createEntities(names: [string, ...string[]]): ExpectedCall {
  const entities = names.map((name) => ({ name, entityType: "note", observations: ["e2e"] }));
  return { tool: "create_entities", args: { entities }, expected: names[0] };
}

/** A number that stands for the tag where only numbers come back. */
export function digits(tag: string): number {
  const hash = Array.from(tag, (character) => character.charCodeAt(0)).reduce(
    (sum, code) => (sum * 31 + code) % 9000,
    7,
  );
  return hash + 1000;
}
