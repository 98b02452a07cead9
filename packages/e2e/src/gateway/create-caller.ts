import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { toolOutcome } from "../clients/own-client.ts";
import type { createTroubles, UnknownCause } from "./why-unknown.ts";

const hungMs = 60_000;
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Makes calls, and notes what each is told. */
export function createCaller(random: () => number, { causeOf }: ReturnType<typeof createTroubles>) {
  const tally = { answered: 0, refused: 0, broken: 0, crossed: 0 };
  const unknown = new Map<UnknownCause, number>();
  const outcomes = new Map<string, "answered" | "unknown" | "refused" | "broken">();
  /** What results with isError say, and how often. */
  const said = new Map<string, number>();
  const unexplained: string[] = [];
  return {
    ...{ tally, unknown, said, unexplained },
    async call(client: Client, text: string): Promise<void> {
      const from = performance.now();
      const isSlow = random() < 0.2;
      const args = { text, ...(isSlow && { delayMs: Math.round(50 + 400 * random()) }) };
      const calling = client.callTool({ name: isSlow ? "slow_echo" : "echo", arguments: args });
      const late = wait(hungMs).then(() => {
        throw new Error("hung");
      });
      try {
        const { text: seen, isError } = toolOutcome(await Promise.race([calling, late]));
        if (!isError && !seen.startsWith(text)) tally.crossed += 1;
        if (isError) said.set(seen, (said.get(seen) ?? 0) + 1);
        const fate = seen.includes("was not carried out") ? "refused" : "unknown";
        const outcome = isError ? fate : "answered";
        if (outcome === "unknown") {
          const cause = causeOf(text, from, performance.now());
          unknown.set(cause, (unknown.get(cause) ?? 0) + 1);
          if (cause === "unexplained") unexplained.push(`${text}: ${seen}`);
        } else tally[outcome] += 1;
        outcomes.set(text, outcome);
      } catch (error) {
        const { cause, code } = error as { cause?: Error; code?: number };
        const words = `${String(error)} ${cause?.message ?? ""}`;
        const isCut = /fetch failed|other side closed|ECONNRESET|terminated/.test(words);
        const isKilled = isCut && causeOf(text, from, performance.now()) !== "unexplained";
        // The gateway's own refusal, without its store.
        if (isKilled || code === 503) {
          tally.broken += 1;
          outcomes.set(text, "broken");
        } else unexplained.push(words);
      }
    },
    /** Compares what was told with what the server has put on record. */
    compare(journal: readonly string[]) {
      const runs = new Map<string, number>();
      for (const line of journal) {
        const { args } = JSON.parse(line) as { args: { text?: string } };
        if (args.text !== undefined) runs.set(args.text, (runs.get(args.text) ?? 0) + 1);
      }
      const having = (outcome: string, isWrong: (times: number) => boolean) =>
        [...outcomes].filter(([text, one]) => one === outcome && isWrong(runs.get(text) ?? 0))
          .length;
      return {
        doubled: [...runs.values()].filter((times) => times > 1).length,
        lost: having("answered", (times) => times === 0),
        untrue: having("refused", (times) => times > 0),
      };
    },
  };
}
