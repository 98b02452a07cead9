import { setTimeout as wait } from "node:timers/promises";
import type { DurableSessions } from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";
import { createFaultyStore } from "@durable-mcp/testing";

/** What an operation meets, before it is done or after. A store has no status: there each is `fail`. */
export const wireFaults = ["fail", "502", "503", "504", "slow"] as const;
/** With `shutdown` the process shuts its sessions down beside the operation, as on SIGTERM. */
export type FaultKind = (typeof wireFaults)[number] | "cut" | "kill" | "freeze" | "shutdown";

export interface Fault {
  /** Which operation of the command, of its store and of the wire together: 1 for the first. */
  readonly at: number;
  readonly side: "before" | "after";
  readonly kind: FaultKind;
}

type Sessions = Pick<DurableSessions, "shutdown">;

/** The header by which a request tells `lab-servers.ts` what it shall meet. */
export const faultHeader = "x-lab-fault";

/**
 * The operations of one command of a process, one of which meets a fault.
 *
 * @param stop ends or freezes the process, for `kill` and `freeze`
 */
export function createPoints(fault: Fault | undefined, stop: (kind: FaultKind) => Promise<void>) {
  const log: string[] = [];
  let isDying = false;
  let sessions: Sessions | undefined;
  const shutDown = () => void sessions?.shutdown({ timeoutMs: 1_000 });
  const meet = async (what: string): Promise<Fault | undefined> => {
    if (dies()) await stop("kill");
    log.push(what);
    return log.length === fault?.at ? fault : undefined;
  };
  const dies = () => {
    const wasDying = isDying;
    isDying = false;
    return wasDying;
  };
  const isStop = (met: Fault) => met.kind === "kill" || met.kind === "freeze";
  return {
    /** The operations so far: `put`, `tools/call`, … */
    log,
    /** Whether its process dies now, at the end of the command: after the operation that met the fault came no other. */
    dies,
    /** Gets the sessions of the command. */
    onOpen: (opened: Sessions) => void (sessions = opened),
    store(inner: SessionStore): SessionStore {
      const faulty = createFaultyStore(inner);
      faulty.meet("*", async (operate, { name }) => {
        const met = await meet(name);
        if (met === undefined) return await operate();
        if (met.kind === "shutdown") {
          shutDown();
          return await operate();
        }
        if (met.kind === "slow") await wait(100);
        if (isStop(met) && met.side === "before") await stop(met.kind);
        const isDone = met.side === "after" || isStop(met) || met.kind === "slow";
        const result = isDone ? await operate() : undefined;
        isDying = met.kind === "kill" && met.side === "after";
        if (met.kind === "freeze" && met.side === "after") await stop(met.kind);
        if (isDone && (isStop(met) || met.kind === "slow")) return result!;
        throw new Error("the connection to the database broke");
      });
      return faulty.store;
    },
    fetch: (async (input, init = {}) => {
      const headers = new Headers(init.headers);
      const met = await meet(methodOf(init));
      if (met === undefined) return await fetch(input, init);
      const end = async () => (met.kind === "shutdown" ? shutDown() : await stop(met.kind));
      const isHere = isStop(met) || met.kind === "shutdown";
      if (!isHere) headers.set(faultHeader, `${met.kind} ${met.side}`);
      else if (met.side === "before") await end();
      const sending = fetch(input, { ...init, headers });
      if (isHere && met.side === "after") {
        await Promise.race([sending.catch(() => undefined), wait(100)]);
        await end();
      }
      return await sending;
    }) as typeof fetch,
  };
}

function methodOf({ method = "GET", body }: RequestInit): string {
  if (typeof body !== "string") return method;
  const message = JSON.parse(body) as { method?: string };
  return message.method ?? "response";
}
