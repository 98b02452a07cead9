import type { ChildProcess } from "node:child_process";
import { on } from "node:events";
import { createInterface } from "node:readline";
import { endProgram, startProgram } from "../programs/start-program.ts";
import { findFreePort, waitForPort } from "../programs/wait-for-port.ts";
import { startRoundRobin } from "../servers/round-robin.ts";

export interface Replica {
  readonly pid: number;
  readonly port: number;
  readonly child: ChildProcess;
}

/** Replicas of the cart server on one store, behind one URL. */
export interface Replicas {
  readonly url: URL;
  /** Starts one more; it serves at once. */
  start(): Promise<Replica>;
  /** Resolves when `count` more calls have begun, to the replica of the last one: it is in the middle of a call. */
  begun(count: number): Promise<Replica>;
  /** Ends one as a crash does. */
  kill(replica: Replica): Promise<void>;
  /** Ends one as a deploy does: no more requests, then SIGTERM, which it takes as a reason to drain. */
  drain(replica: Replica): Promise<void>;
  end(): Promise<void>;
}

export async function openReplicas(place: string): Promise<Replicas> {
  const program = new URL("../servers/shared-cart-server.ts", import.meta.url);
  const all: Replica[] = [];
  const ports: number[] = [];
  const balancer = await startRoundRobin(ports, 0);
  const calls = new EventTarget();

  async function start(): Promise<Replica> {
    const port = await findFreePort();
    const child = startProgram(program, [String(port), place], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const replica = { pid: child.pid!, port, child };
    createInterface({ input: child.stdout! }).on("line", () => {
      calls.dispatchEvent(new CustomEvent("begun", { detail: replica }));
    });
    await waitForPort(port);
    all.push(replica);
    ports.push(port);
    return replica;
  }

  function takeOut({ port }: Replica): void {
    ports.splice(ports.indexOf(port), 1);
  }

  return {
    url: new URL(`http://127.0.0.1:${balancer.port}/mcp`),
    start,
    async begun(count) {
      let left = count;
      for await (const [event] of on(calls, "begun")) {
        left -= 1;
        if (left === 0) return (event as CustomEvent<Replica>).detail;
      }
      throw new Error("No call has begun.");
    },
    async kill(replica) {
      await endProgram(replica.child, "SIGKILL");
      takeOut(replica);
    },
    async drain(replica) {
      takeOut(replica);
      await endProgram(replica.child, "SIGTERM");
    },
    async end() {
      balancer.close();
      await Promise.all(all.map(({ child }) => endProgram(child, "SIGTERM")));
    },
  };
}
