import { createFaultyProxy, type FaultyProxy } from "@durable-mcp/testing";
import { createMemoryStore, McpSessionError } from "@durable-mcp/core";
import { waitingCallOf } from "@durable-mcp/core/waiting";
import { type AskingServer, startAskingServer } from "../servers/asking.ts";
import { answer, createShop, order, resume } from "../waiting/waiting-shop.ts";
import type { Family, Fault, World } from "./fault.ts";
import { describe } from "./judge.ts";
import { refreshGroups } from "./refresh-faults.ts";
import type { Begin } from "./misbehaviour.ts";
import { atCall, lasting } from "./server-faults.ts";
import { openServerWorld, sawAt } from "./server-world.ts";
import { createStoreAtFault } from "./store-at-fault.ts";
import { shortTimes } from "./waits.ts";

const carriedOut = true;

/** What comes in the place of an answer when the server has carried the request out. */
const instead: readonly (readonly [string, Begin])[] = [
  ["HTTP 504 in JSON", refusal(504, '{"message":"timed out"}')],
  ["HTTP 502 in HTML", refusal(502, "<title>502 Bad Gateway</title>")],
  ["a reset", (front, on) => front.reset({ ...on, carriedOut })],
  ["silence", (front, on) => front.hang({ ...on, carriedOut })],
];

function refusal(status: number, body: string): Begin {
  return (front, on) =>
    front.meet(async () => new Response(body, { status }), { ...on, carriedOut });
}

/** A server that asks a person, and a gateway before it. */
interface ShopWorld extends World {
  readonly server: AskingServer;
  readonly front: FaultyProxy;
}

async function openShopWorld(): Promise<ShopWorld> {
  const server = await startAskingServer();
  const front = await createFaultyProxy({ target: server.url });
  return {
    server,
    front,
    evidence: { runs: server.runs, arrived: sawAt(front) },
    async close() {
      await front.close();
      await server.stop();
    },
  };
}

interface LastLeg {
  /** What the last answer of the person meets; the server has carried it out. */
  readonly meets: (front: FaultyProxy, store: ReturnType<typeof createStoreAtFault>) => unknown;
  /** What is wrong with what was told: to the person, and then to the model. */
  readonly judge: (told: string, result: string) => string | undefined;
}

const limits = { closeTimeoutMs: 3_000, timeouts: { callMs: shortTimes.answerMs } };

/** The last answer of a person is carried out, and something goes wrong then. */
function atLastLeg(name: string, { meets, judge }: LastLeg): Fault<ShopWorld> {
  return {
    name,
    async round({ number, fault }, { server, front }) {
      const sessionId = `${name} ${number}`;
      const atFault = createStoreAtFault(createMemoryStore());
      const newProcess = () => createShop({ url: front.url, store: atFault.store, ...limits });
      const { id } = waitingCallOf(await order(newProcess(), sessionId))!;
      await answer(newProcess(), sessionId, { id, round: 1 });
      meets(front, atFault);
      const send = () =>
        answer(newProcess(), sessionId, { id, round: 2 }).then(({ state }) => state, inWords);
      const told = await send();
      front.heal();
      atFault.heal();
      // Whoever answers again sends nothing.
      const again = await send();
      if (!again.startsWith("NOT_WAITING")) fault(`a second answer was told ${again}`);
      const { messages } = await resume(newProcess(), sessionId, id);
      const wrong = judge(told, JSON.stringify(messages));
      if (wrong !== undefined) fault(wrong);
      const mine = server.journal().filter((line) => line.includes(`"${sessionId}"`));
      const countOf = (text: string) => mine.filter((line) => line.includes(text)).length;
      const legs = countOf('"inputResponses":{"delivery"');
      if (legs !== 1) fault(`doubled: the answer was sent ${legs} times`);
      if (countOf('"kind":"order"') !== 1) fault("doubled: it was not ordered once");
    },
  };
}

function inWords(error: unknown): string {
  return McpSessionError.isInstance(error) ? `${error.code}: ${error.message}` : describe(error);
}

const unknownLegs = instead.map(([name, begin]) =>
  atLastLeg(`${name}, to a person's answer`, {
    meets: (front) => begin(front, {}),
    judge(told, result) {
      const isTold = told === "outcome-unknown" || /is unknown/.test(told);
      if (!isTold) return `told wrong: the outcome is unknown, and told was ${told}`;
      return result.includes("unknown") ? undefined : `told wrong: the model was told ${result}`;
    },
  }),
);

const failing = () => Promise.reject(new Error("the connection to the database broke"));

const unkeptLegs = [
  atLastLeg("the store is away for 2 s when a person's answer was carried out", {
    meets(front, store) {
      front.meet(({ carryOut }) => {
        store.failAt("put", failing);
        setTimeout(store.heal, 2_000);
        return carryOut();
      });
    },
    judge: (told, result) =>
      result.includes("12:00") ? undefined : `lost: the result of a person's answer: ${told}`,
  }),
  atLastLeg("the store stays away when a person's answer was carried out", {
    meets(front, store) {
      front.meet(({ carryOut }) => {
        store.failAt("put", failing);
        return carryOut();
      });
    },
    judge: (told) =>
      told.includes("was carried out") && !told.includes("Nothing was written")
        ? undefined
        : `told wrong: it was carried out, and told was ${told}`,
  }),
];

export const gatewayFamily: Family = {
  name: "gateway",
  rounds: 5,
  groups: [
    {
      openWorld: openServerWorld,
      worlds: 2,
      faults: instead.map(([name, act]) => atCall(`${name}, to calls`, act, lasting)),
    },
    { openWorld: openShopWorld, faults: unknownLegs },
    { openWorld: openShopWorld, faults: unkeptLegs },
    ...refreshGroups,
  ],
  skipped: [],
};
