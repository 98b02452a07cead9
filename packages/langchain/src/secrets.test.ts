/** Each secret of a connection, in each form, at each place where LangChain's tools let text out. */
import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  answers,
  kinds,
  leaksIn,
  optionsOf,
  printed,
  startEchoes,
} from "../../sessions/test/echoes.ts";
import { startApplication } from "../../ai-sdk/test/step.ts";
import { agentSaying, call, input } from "../test/notebook-agent.ts";
import { loadSessionTools } from "./load-session-tools.ts";

const output: unknown[] = [];
beforeEach(() => {
  output.length = 0;
  for (const method of ["debug", "info", "log", "warn", "error", "trace"] as const) {
    vi.spyOn(console, method).mockImplementation((...args) => void output.push(args));
  }
});
afterEach(() => void vi.restoreAllMocks());

/** A connection without a slot tells of no notification, and its client here of no progress. */
const unheard = ["a notification", "progress"];
const cases = (["session", "stateless"] as const).flatMap((era) =>
  answers
    .filter(([name]) => era === "session" || !unheard.includes(name))
    .map(([name, reply]) => [era, name, reply] as const),
);

test.each(cases)(
  "in the era %s no secret that the server repeats in %s reaches a tool, an agent, a hook or an event",
  async (era, _, reply) => {
    const { url, echoed } = await startEchoes(era, reply);
    const seen: unknown[] = [];
    const onProgress = (progress: unknown) => void seen.push(progress);
    const keep = async (work: Promise<unknown>) => void seen.push(await work.catch((e) => e));
    const options = { ...optionsOf(url, era), onProgress };
    const { step, events } = startApplication({ echoes: defineMcpClientConnection(options) });
    await step({}, async (run) => {
      const tools = await loadSessionTools(run, {
        onProgress,
        afterToolCall: ({ result }) => void seen.push(result),
      });
      await keep(call(tools, "echoes__echo"));
      const asked = { name: "echoes__echo", args: {}, id: "1", type: "tool_call" } as const;
      await keep(run.enter(() => agentSaying([asked]).invoke(input)));
    });
    expect(leaksIn(echoed.join("\n"))).toEqual(expect.arrayContaining(kinds));
    const text = printed([...seen, ...events, ...output]);
    expect(text).toContain("[redacted]");
    expect(leaksIn(text)).toEqual([]);
  },
);
