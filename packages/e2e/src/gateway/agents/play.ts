import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFaultyProxy } from "@durable-mcp/testing";
import { startNotebookServer } from "../../servers/notebook.ts";
import { startBalancer, startGateway } from "../gateway-process.ts";
import { type CodingAgent, codingAgents, runAgent } from "./coding-agents.ts";
import {
  type OtherClient,
  startInspector,
  startMcporter,
  startMcpRemote,
} from "./other-clients.ts";
import { runSdkAgent, sdkAgents } from "./sdk-agents.ts";
import { type ScriptedCall, startScriptedModel } from "./scripted-model.ts";

/** A client that nobody can change. */
export interface ForeignClient {
  readonly name: string;
  /** Makes these calls in one run of it, at that address. @returns what each gave, as far as it came */
  readonly play: (url: string, script: readonly ScriptedCall[]) => Promise<readonly string[]>;
}

/** Longer than all that these clients wait for. */
const runMs = 120_000;

const agent = <AGENT extends Pick<CodingAgent, "name" | "version">>(
  own: AGENT,
  run: (
    own: AGENT,
    addresses: Parameters<typeof runAgent>[1],
    timeoutMs: number,
  ) => Promise<unknown>,
): ForeignClient => ({
  name: `${own.name} ${own.version}`,
  async play(url, script) {
    const model = await startScriptedModel(script);
    // On a busy machine some ask the model before they have the server's tools.
    for (let tries = 0; tries < 3 && model.results.length === 0; tries += 1)
      await run(own, { model: model.origin, server: url }, runMs);
    model.stop();
    return model.results;
  },
});

const other = (
  name: string,
  start: (url: string, home: string) => Promise<OtherClient>,
): ForeignClient => ({
  name,
  async play(url, script) {
    const home = mkdtempSync(join(tmpdir(), "durable-mcp-home-"));
    const client = await start(url, home);
    const results: string[] = [];
    for (const { tool, args, before } of script) {
      await before?.();
      results.push(await client.call(tool, args).catch(String));
    }
    await client.stop();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    return results;
  },
});

export const foreignClients: readonly ForeignClient[] = [
  ...codingAgents.map((each) => agent(each, runAgent)),
  ...sdkAgents.map((each) => agent(each, runSdkAgent)),
  other("mcp-remote", startMcpRemote),
  other("mcporter, with its daemon", startMcporter),
  other("@modelcontextprotocol/inspector 2.12.0 --cli", startInspector),
];

/** What happens to a client's server, or to what stands before it. */
export const troubles = ["404", "400", "killed between", "killed in a call"] as const;

/** How each was told, in words. */
export type Told = Readonly<Record<(typeof troubles)[number], string>>;

const dialects = { "404": "not-found", "400": "no-valid-session-id" } as const;
const note = (text: string, before?: () => Promise<unknown>): ScriptedCall => ({
  ...{ tool: "add_note", args: { text }, before },
});

/** A call in which something is killed, as soon as the server has begun it, and a call after that. */
function callsAround(
  server: Awaited<ReturnType<typeof startNotebookServer>>,
  kill: () => Promise<unknown>,
): readonly ScriptedCall[] {
  const text = `broken off ${Math.random()}`;
  const killing = Promise.withResolvers<void>();
  const watch = async () => {
    for (let waited = 0; server.runs(text) === 0 && waited < 30_000; waited += 50) await wait(50);
    await wait(200);
    await kill();
  };
  // The call goes on meanwhile.
  const before = async () => void watch().then(killing.resolve, killing.reject);
  const long = { tool: "slow_echo", args: { text, delayMs: 20_000 }, before };
  return [long, note("after", () => killing.promise)];
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** How many notes a result of the notebook says that there are. */
export const notesIn = (result: string | undefined) => /(\d+) notes/.exec(result ?? "")?.[1];

/** How many there are after another, in the same session. */
const oneMore = (result: string | undefined) => String(Number(notesIn(result)) + 1);

/** What became of a call after the loss of a session. */
function toldOfLoss(result: string | undefined, next: string | undefined): string {
  if (result === undefined) return "the run ends";
  const told = result.includes("had forgotten") ? "told" : "not told";
  if (notesIn(result) === "1") return `goes on, ${told}`;
  return notesIn(next) === undefined ? "dead" : "this call fails, the next goes on";
}

/** What became of a call after all processes of the gateway were killed. */
function toldOfKill(result: string | undefined, next: string | undefined, kept: string): string {
  if (notesIn(result) !== kept) return toldOfLoss(result, next);
  return "goes on in its session";
}

function toldOfCall(result: string | undefined, next: string | undefined, kept: string): string {
  if (result === undefined) return `no answer in ${runMs / 1_000} s`;
  const outcome = result.includes("is unknown") ? "unknown outcome" : "an error";
  const notes = notesIn(next);
  if (notes === undefined)
    return `${outcome}, then ${next === undefined ? "the run ends" : "dead"}`;
  return `${outcome}, goes on${notes === kept ? " in its session" : " in a new session"}`;
}

/** A server, behind a proxy that can forget for it. */
async function startServer(stack: AsyncDisposableStack) {
  const server = stack.adopt(await startNotebookServer(), (each) => each.stop());
  const target = { target: server.url };
  const proxy = stack.adopt(await createFaultyProxy(target), (each) => each.close());
  const forget = (status: "404" | "400") => async () =>
    proxy.forgetSessions({ dialect: dialects[status] });
  return { server, proxy, forget };
}

async function withStack<RESULT>(use: (stack: AsyncDisposableStack) => Promise<RESULT>) {
  const stack = new AsyncDisposableStack();
  try {
    return await use(stack);
  } finally {
    await stack.disposeAsync();
  }
}

/** All troubles in one run of a client, through two processes of a gateway. */
export const playThroughGateway = ({ play }: ForeignClient): Promise<Told> =>
  withStack(async (stack) => {
    const { server, proxy, forget } = await startServer(stack);
    const started = await startGateway({ notebook: proxy.url }, { processes: 2 });
    const { processes } = stack.adopt(started, (each) => each.stop());
    const front = stack.adopt(await startBalancer(processes), (each) => each.stop());
    const kill = async () => {
      for (const each of processes) await each.restart();
    };
    const results = await play(`${front.origin}/mcp/notebook`, [
      note("one"),
      note("two", forget("404")),
      note("three"),
      note("four", forget("400")),
      note("five"),
      note("six", kill),
      ...callsAround(server, kill),
    ]);
    const [, after404, next404, after400, next400, between, inCall, last] = results;
    return {
      "404": toldOfLoss(after404, next404),
      "400": toldOfLoss(after400, next400),
      "killed between": toldOfKill(between, inCall, oneMore(next400)),
      "killed in a call": toldOfCall(inCall, last, oneMore(between)),
    };
  });

/** One trouble without a gateway: the server's process is what is killed. */
const playOne = ({ play }: ForeignClient, trouble: keyof Told): Promise<string> =>
  withStack(async (stack) => {
    const { server, proxy, forget } = await startServer(stack);
    const restart = () => server.restart();
    if (trouble === "killed in a call") {
      const script = [note("one"), ...callsAround(server, restart)];
      const [, inCall, last] = await play(server.url, script);
      return toldOfCall(inCall, last, "2");
    }
    const isKilled = trouble === "killed between";
    const lose = isKilled ? restart : forget(trouble);
    const script = [note("one"), note("two", lose), note("three")];
    const [, after, next] = await play(isKilled ? server.url : proxy.url, script);
    return toldOfLoss(after, next);
  });

/** The same without a gateway, a run for each. */
export async function playDirectly(client: ForeignClient): Promise<Told> {
  const told: Partial<Record<keyof Told, string>> = {};
  for (const trouble of troubles) told[trouble] = await playOne(client, trouble);
  return told as Told;
}
