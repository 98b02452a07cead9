import { type FixtureServer, startFixtureServer } from "../servers/fixture-server.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import type { World } from "./fault.ts";
import { type Exchange, type Front, type Rule, startFront } from "../wire/front.ts";

/** Replicas that know nothing of each other's sessions, behind a balancer. */
export interface BalancerWorld extends World {
  readonly replicas: readonly FixtureServer[];
  readonly front: Front;
}

export type ReplicaKind = "notebook" | "adopting";

export async function openBalancerWorld(kind: ReplicaKind, count: number): Promise<BalancerWorld> {
  const start = () =>
    kind === "notebook"
      ? startNotebookServer()
      : startFixtureServer("adopting", "adopting-server.ts");
  const replicas = await Promise.all(Array.from({ length: count }, start));
  const front = await startFront(replicas[0]!.url);
  const runs = (text: string) => replicas.reduce((sum, replica) => sum + replica.runs(text), 0);
  return {
    ...{ replicas, front },
    evidence: { runs, arrived: front.saw },
    async close() {
      await front.close();
      await Promise.all(replicas.map((replica) => replica.stop()));
    },
  };
}

/** Each request goes to the next replica. */
export function roundRobin({ replicas }: BalancerWorld): Rule {
  let turn = 0;
  return (exchange) => exchange.pass(replicas[turn++ % replicas.length]!.url);
}

/** All to one. */
export const only =
  ({ replicas }: BalancerWorld, index: number): Rule =>
  (exchange) =>
    exchange.pass(replicas[index]!.url);

export interface StickyBalancer {
  readonly rule: Rule;
  /** What a request gets whose replica does not take it. @default 502 */
  refusal: number;
  /** Takes a replica out; its sessions go to the others. */
  readonly takeOut: (index: number) => void;
}

/** A session stays at the replica that named it, as long as the balancer counts on that replica. */
export function createStickyBalancer({ replicas }: BalancerWorld): StickyBalancer {
  const homes = new Map<string, number>();
  const out = new Set<number>();
  let turn = 0;
  const balancer: StickyBalancer = {
    refusal: 502,
    takeOut: (index) => void out.add(index),
    rule: async (exchange) => {
      const known = homes.get(exchange.sessionId ?? "");
      const others = replicas.map((_, index) => index).filter((index) => !out.has(index));
      const home = known !== undefined && !out.has(known) ? known : others[turn++ % others.length]!;
      try {
        const id = await passFrom(exchange, replicas[home]!.url);
        if (id !== undefined) homes.set(id, home);
      } catch {
        exchange.answer({ status: balancer.refusal, headers: {}, body: "no healthy upstream" });
      }
    },
  };
  return balancer;
}

/** @returns the session that the answer names */
async function passFrom(exchange: Exchange, url: string): Promise<string | undefined> {
  const answer = await exchange.ask(url);
  exchange.answer(answer);
  return answer.headers["mcp-session-id"];
}
