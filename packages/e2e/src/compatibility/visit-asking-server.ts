import { createFaultyProxy } from "@durable-mcp/testing";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LegClientName } from "../conformance/any-client.ts";
import { type AskingScenario, askingScenarios } from "./asking-protocol.ts";
import { type AskingSeen, hastySeconds, observeAnswers } from "./asking-scenarios.ts";
import type { AskingMatrixServer } from "./asking-servers.ts";

/** What a call that waits is made and answered with. */
export const askingWays = {
  "provider-pausing": "@durable-mcp/ai-sdk, `waiting: true`",
  "client-2-waiting": "@modelcontextprotocol/client 2",
  "ai-sdk-2-waiting": "@ai-sdk/mcp 2",
} satisfies Partial<Record<LegClientName, string>>;

const allWays = Object.keys(askingWays) as AskingWay[];
type AskingWay = keyof typeof askingWays;

/** A server that asks, with what was seen of it. */
export interface AskingRow {
  server: AskingMatrixServer;
  seen: AskingSeen;
  /** Where this differs from what was expected, a line each. */
  surprises: string[];
  /** Why it did not run. */
  unavailable?: string;
}

/** Starts the server and a hasty one, has all scenarios run in these ways, and stops both. */
export async function visitAskingServer(
  asking: AskingMatrixServer,
  ways: readonly AskingWay[] = allWays,
): Promise<AskingRow> {
  const longEnoughSeconds = 600;
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-waiting-"));
  const [server, hastyServer] = await Promise.all([
    asking.start(longEnoughSeconds),
    asking.start(hastySeconds),
  ]);
  const proxy = await createFaultyProxy({ target: server.url });
  const hasty = await createFaultyProxy({ target: hastyServer.url });
  try {
    const seen = await observeAnswers({ asking, server, proxy, hasty, folder }, ways);
    return { server: asking, seen, surprises: surprisesOf(asking, seen) };
  } finally {
    await Promise.all([proxy.close(), hasty.close(), server.stop(), hastyServer.stop()]);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** What most of them show. */
const usual: Record<AskingScenario, string> = {
  answered: "worked",
  "two answers at once": "one leg",
  "server restarted": "worked",
  "state expired": "expired",
};

/** A line for everything that was seen and not expected. */
export function surprisesOf(asking: AskingMatrixServer, seen: AskingSeen): string[] {
  return [...seen].flatMap(([way, scenarios]) =>
    askingScenarios.flatMap((scenario) => {
      const where = `${asking.name}, ${scenario}, ${way}`;
      const { outcome = "nothing", requests = [] } = scenarios.get(scenario) ?? {};
      const expected = asking.exceptions?.[scenario] ?? usual[scenario];
      const wrong = requests.filter((count) => !/^1\b/.test(count));
      return [
        ...(outcome === expected ? [] : [`${where}: expected ${expected}, saw ${outcome}`]),
        ...(wrong.length === 0 ? [] : [`${where}: an answer took ${wrong.join()} requests`]),
      ];
    }),
  );
}
