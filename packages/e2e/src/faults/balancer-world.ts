import { createFaultyProxy, type FaultyProxy, type Guard } from "@durable-mcp/testing";
import { type FixtureServer, startFixtureServer } from "../servers/fixture-server.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import type { World } from "./fault.ts";
import { sawAt } from "./server-world.ts";

/** Replicas that know nothing of each other's sessions, behind a balancer. */
export interface BalancerWorld extends World {
  readonly replicas: readonly FixtureServer[];
  readonly front: FaultyProxy;
}

export type ReplicaKind = "notebook" | "adopting";

export async function openBalancerWorld(kind: ReplicaKind, count: number): Promise<BalancerWorld> {
  const start = () =>
    kind === "notebook"
      ? startNotebookServer()
      : startFixtureServer("adopting", "adopting-server.ts");
  const replicas = await Promise.all(Array.from({ length: count }, start));
  const front = await createFaultyProxy({ target: replicas[0]!.url });
  const runs = (text: string) => replicas.reduce((sum, replica) => sum + replica.runs(text), 0);
  return {
    ...{ replicas, front },
    evidence: { runs, arrived: sawAt(front) },
    async close() {
      await front.close();
      await Promise.all(replicas.map((replica) => replica.stop()));
    },
  };
}

/** Each request goes to the next replica. */
export function roundRobin({ replicas }: BalancerWorld): Guard {
  let turn = 0;
  return (exchange) => exchange.carryOut(replicas[turn++ % replicas.length]!.url);
}

/** All to one. */
export const only =
  ({ replicas }: BalancerWorld, index: number): Guard =>
  (exchange) =>
    exchange.carryOut(replicas[index]!.url);

export interface StickyBalancer {
  readonly rule: Guard;
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
    rule: async ({ seen, carryOut }) => {
      const known = homes.get(seen.headers.get("mcp-session-id") ?? "");
      const others = replicas.map((_, index) => index).filter((index) => !out.has(index));
      const home = known !== undefined && !out.has(known) ? known : others[turn++ % others.length]!;
      const answer = await carryOut(replicas[home]!.url).catch(() => undefined);
      const id = answer?.headers.get("mcp-session-id");
      if (id) homes.set(id, home);
      return answer ?? new Response("no healthy upstream", { status: balancer.refusal });
    },
  };
  return balancer;
}
