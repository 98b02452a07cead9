import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { compileCache } from "../processes/compile-cache.ts";
import { startAskingServer } from "../servers/asking.ts";
import type { GraphState, GraphTurn } from "./graph-protocol.ts";

const program = fileURLToPath(new URL("graph-program.ts", import.meta.url));
const run = promisify(execFile);

/** A LangChain agent, each of whose turns is a process of its own. */
async function startAgent(options: Parameters<typeof startAskingServer>[0] = {}) {
  const server = await startAskingServer(options);
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-graph-"));
  onTestFinished(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const start = (given: Pick<GraphTurn, "resume" | "laterMs">) => {
    const told: GraphTurn = { url: server.url, folder, ...given };
    const strip = process.features.typescript ? [] : ["--experimental-strip-types"];
    const args = [...strip, "--conditions=@durable-mcp/source", program, JSON.stringify(told)];
    return run(process.execPath, args, {
      env: { ...process.env, ...compileCache, NODE_NO_WARNINGS: "1" },
    });
  };
  const turn = async (given: Pick<GraphTurn, "resume" | "laterMs"> = {}) =>
    JSON.parse((await start(given)).stdout) as GraphState;
  return { server, turn, start };
}

const answer = ({ __interrupt__: interrupts }: GraphState, responses: object) =>
  Object.fromEntries(interrupts.map(({ id }) => [id!, responses]));
/** The interrupts are in the order in which their tasks ended. */
const rounds = ({ __interrupt__: interrupts }: GraphState) =>
  Object.fromEntries(
    interrupts.map(({ value }) => [
      value!.toolCallId,
      [value!.round, Object.keys(value!.requests)],
    ]),
  );
const made = (item: string) => ({
  content: expect.stringContaining(`${item} comes at 12:00.`) as string,
  artifact: expect.arrayContaining([
    { type: "mcp_structured_content", data: { item, ordered: true, time: "12:00" } },
  ]) as unknown,
});
const accept = (content: object) => ({ action: "accept", content });
const yes = { confirm: accept({ ok: true }) };

test("questions of one process are answered in the next ones, with one leg for each answer", async () => {
  const { server, turn } = await startAgent();
  const first = await turn();
  expect(rounds(first)).toEqual({ tea: [1, ["confirm"]], milk: [1, ["confirm"]] });
  const second = await turn({ resume: answer(first, yes) });
  expect(rounds(second)).toEqual({ tea: [2, ["delivery"]], milk: [2, ["delivery"]] });
  const noon = { delivery: accept({ time: "12:00" }) };
  const { results } = await turn({ resume: answer(second, noon) });
  expect(results).toMatchObject([made("tea"), made("milk")]);
  expect(server.orders()).toHaveLength(2);
  expect(server.legs()).toHaveLength(6);
  for (const item of ["tea", "milk"]) {
    const legs = server.legs().filter(({ params }) => params.arguments?.["item"] === item);
    expect(legs.map(({ params }) => params.inputResponses)).toEqual([undefined, yes, noon]);
  }
});

test("a leg whose process was killed is not sent again, and the model is told", async () => {
  const { server, turn, start } = await startAgent({ slowMs: 400 });
  const resume = answer(await turn(), yes);
  const running = start({ resume });
  const ended = running.catch((error: unknown) => error);
  await expect.poll(() => server.legs().length).toBe(4);
  running.child.kill("SIGKILL");
  expect(await ended).toHaveProperty("signal", "SIGKILL");
  const { results } = await turn({ resume: null, laterMs: 120_000 });
  expect(results.map(({ content }) => content)).toEqual([
    expect.stringMatching(/is unknown; check/),
    expect.stringMatching(/is unknown; check/),
  ]);
  expect(server.legs()).toHaveLength(4);
});
