import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { waitingCallOf } from "@durable-mcp/core/waiting";
import { type AskingServer, startAskingServer } from "../servers/asking.ts";
import { answer, createShop, order, resume } from "../waiting/waiting-shop.ts";
import { refreshGroups } from "./refresh-faults.ts";
import type { Family, Fault, Round, World } from "./fault.ts";
import { type Front, type Rule, startFront } from "./front.ts";
import { describe } from "./judge.ts";
import * as acts from "./misbehaviour.ts";
import { atCall, keptAtAll } from "./server-faults.ts";
import { openServerWorld } from "./server-world.ts";
import { createStoreAtFault } from "./store-at-fault.ts";

/** What a gateway says, or does, after its server has carried the request out. */
const instead: readonly (readonly [string, (exchange: Parameters<Rule>[0]) => Promise<void>])[] = [
  ["HTTP 504 in JSON", acts.askThenTimeout],
  ["HTTP 502 in HTML", acts.askThenBadGateway],
  ["a reset", acts.askThenReset],
  ["silence", acts.askThenHang],
];

/** A server that asks a person, and a gateway before it. */
interface ShopWorld extends World {
  readonly server: AskingServer;
  readonly front: Front;
}

async function openShopWorld(): Promise<ShopWorld> {
  const server = await startAskingServer();
  const front = await startFront(server.url);
  return {
    server,
    front,
    evidence: { runs: server.runs, arrived: front.saw },
    async close() {
      await front.close();
      await server.stop();
    },
  };
}

interface Leg {
  readonly sessionId: string;
  readonly store: SessionStore;
  /** Sends the last answer of a person. @returns the state then, or the words of the error */
  readonly send: () => Promise<string>;
}

/** The last answer of a person meets something; whoever answers or asks afterwards is told the truth. */
function atLeg(
  name: string,
  meet: (leg: Leg, world: ShopWorld) => Promise<string>,
  judge: (said: { readonly told: string; readonly result: string }) => string | undefined,
): Fault<ShopWorld> {
  return {
    name,
    async round(round: Round, world) {
      const { server, front } = world;
      const sessionId = `${name} ${round.number}`;
      const atFault = createStoreAtFault(createMemoryStore());
      ...
    },
  };
}
