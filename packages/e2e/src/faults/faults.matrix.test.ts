import { describe, expect, test } from "vitest";
import { families } from "./families.ts";
import type { Family } from "./fault.ts";
import type { Act } from "@durable-mcp/testing";
import { wholeOf } from "./misbehaviour.ts";
import { runFamily } from "./run-family.ts";
import { openServerWorld, type ServerWorld } from "./server-world.ts";
import { plainTable } from "./table.ts";

const seed = 20_261_122;

// `npm run lab -- faults` for all of them, with more rounds.
const shares: Record<string, { rounds: number; only?: string }> = {
  frozen: { rounds: 1 },
  gateway: { rounds: 1 },
  store: { rounds: 4, only: "reset at the answer" },
  server: { rounds: 1 },
  balancer: { rounds: 1 },
  clock: { rounds: 1, only: "SQLite" },
};

test.each(families.filter(({ name }) => name in shares))(
  "$name: nothing lost, doubled, crossed, silent or late",
  async (family) => {
    const rows = await runFamily(family, { seed, ...shares[family.name] });
    console.log(plainTable(rows));
    expect(rows.flatMap(({ faults }) => faults)).toEqual([]);
  },
);

describe("the checker goes red", () => {
  test.each<[string, string, Act]>([
    [
      "doubled",
      "before a server that gets each call twice",
      async ({ carryOut }) => {
        await wholeOf(await carryOut());
        return await carryOut();
      },
    ],
    [
      "crossed",
      "before a server that answers with other words",
      async ({ carryOut }) => {
        const { body, ...rest } = await wholeOf(await carryOut());
        return new Response(body.replaceAll(/\d+ notes|<broken/g, "of somebody else"), rest);
      },
    ],
    [
      "gone without a word",
      "before a server that does not do what it answers",
      async ({ seen: { message } }) => {
        const result = { content: [{ type: "text", text: "1 notes" }] };
        return Response.json({ jsonrpc: "2.0", id: message.id, result });
      },
    ],
  ])("%s, %s", async (word, _, act) => {
    const [row] = await runFamily(brokenFamily(act), { seed });
    expect(row?.faults.join("\n")).toContain(word);
  });
});

/** A server that breaks what the checker looks for, in the second of three steps. */
function brokenFamily(act: Act): Family {
  const fault = {
    name: "broken",
    async round({ chat: newChat }, { front }: ServerWorld) {
      const chat = newChat({ url: front.url });
      await chat.step({ calls: 2, isHealthy: true });
      front.meet(act);
      await chat.step({ calls: 2 });
      front.heal();
      await chat.step({ calls: 1, reads: true });
    },
  } satisfies Family["groups"][number]["faults"][number];
  return {
    name: "broken",
    rounds: 1,
    groups: [{ openWorld: openServerWorld, faults: [fault] }],
    skipped: [],
  };
}
