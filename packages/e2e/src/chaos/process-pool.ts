import { type ChildProcess, fork } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { StorePlace } from "../durable/store-place.ts";
import { type NetworkMode, startTcpProxy } from "../faults/tcp-proxy.ts";
import { builtModule } from "../processes/programs.ts";
import type { Order, Report } from "./chaos-program.ts";
import type { Outcome, Processes } from "./chat-life.ts";
import { commandMs } from "./here.ts";

const older = new URL("../releases/2026-11-24.mjs", import.meta.url).href;

export interface ProcessPool extends Processes {
  /** Processes that ended by themselves, with what they printed. */
  readonly crashes: string[];
  readonly close: () => Promise<void>;
}

/**
 * Processes of an application on one store, with a network before it that breaks. What was killed is started again when
 * it has something to do.
 */
export async function startPool(store: StorePlace, count: number): Promise<ProcessPool> {
  const { place, disturb, untilWell, close } = await openPlace(store);
  const crashes: string[] = [];
  const started = new Map<number, Promise<ChildProcess>>();
  const frozen = new Map<ChildProcess, Promise<Outcome>>();

  const start = async (at: number, tries = 3): Promise<ChildProcess> => {
    await untilWell();
    try {
      return await startProcess(place, (crash) => {
        started.delete(at);
        if (crash !== undefined) crashes.push(crash);
      });
    } catch (error) {
      // A new process meets what breaks its store, too.
      if (tries === 0) throw error;
      return await start(at, tries - 1);
    }
  };
  const take = async (by: number): Promise<ChildProcess> => {
    for (let turn = by; turn < by + count; turn += 1) {
      const at = turn % count;
      const made = started.get(at) ?? start(at);
      started.set(at, made);
      const child = await made;
      if (!frozen.has(child)) return child;
    }
    throw new Error("All processes stand still.");
  };

  return {
    crashes,
    disturb,
    async carryOut({ by, ...order }) {
      const child = await take(by);
      const { outcome, stands } = send(child, order);
      const first = await Promise.race([outcome, stands]);
      if (first) return first;
      frozen.set(child, outcome);
      return { type: "frozen" };
    },
    async thaw() {
      await untilWell();
      for (const [child, outcome] of frozen) {
        const again = setInterval(() => child.kill("SIGCONT"), 20);
        await outcome;
        clearInterval(again);
        frozen.delete(child);
      }
    },
    async close() {
      for (const made of started.values()) {
        const child = await made;
        const ended = new Promise((resolve) => child.once("exit", resolve));
        child.kill("SIGKILL");
        await ended;
      }
      await close();
    },
  };
}

/** Where processes find a store whose network can break, or whose file can be locked. */
async function openPlace(store: StorePlace) {
  const network = store.kind === "sqlite" ? undefined : await startTcpProxy(Number(store.at));
  const place = network ? { kind: store.kind, at: network.port } : store;
  let disturbing: Promise<void> | undefined;
  return {
    place,
    untilWell: async () => await disturbing,
    disturb: async (mode: NetworkMode, ms: number) => {
      await disturbing;
      await network?.setMode(mode);
      const holder = network ? undefined : new DatabaseSync(String(place.at));
      holder?.exec("PRAGMA busy_timeout = 2000; BEGIN IMMEDIATE");
      const heal = async () => {
        await wait(ms);
        holder?.close();
        await network?.setMode("pass");
      };
      disturbing = heal();
    },
    close: async () => await network?.close(),
  };
}

/** @param onExit gets what a process printed that ended by itself */
async function startProcess(
  place: StorePlace,
  onExit: (crash: string | undefined) => void,
): Promise<ChildProcess> {
  const program = fileURLToPath(builtModule(new URL("chaos-program.ts", import.meta.url)));
  const child = fork(program, [JSON.stringify([place, older])], {
    execArgv: ["--conditions=@durable-mcp/source"],
    env: { ...process.env, NODE_NO_WARNINGS: "1" },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let printed = "";
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
  await new Promise<void>((resolve, reject) => {
    child.once("message", () => resolve());
    child.once("exit", () => reject(new Error(`A process did not start: ${printed}`)));
  });
  child.once("exit", (code, signal) => {
    const crash = `a process ended (${code ?? signal}): ${printed}`;
    onExit(signal === "SIGKILL" ? undefined : crash);
  });
  return child;
}

let orders = 0;

/** Gives an order. @returns the outcome, and whether the process stands still before it */
function send(child: ChildProcess, order: Omit<Order, "id">) {
  const id = (orders += 1);
  const stands = Promise.withResolvers<void>();
  const outcome = new Promise<Outcome>((resolve) => {
    const end = (result: Outcome) => {
      clearTimeout(timer);
      child.off("message", hear).off("exit", die);
      resolve(result);
    };
    const hear = (message: Report) => {
      if (message.id !== id) return;
      if (message.type === "frozen") stands.resolve();
      else if (message.type === "ending") isAtEnd = true;
      else if (message.type === "done" || message.type === "failed") end(message);
    };
    let isAtEnd = false;
    const die = () => end({ type: "killed", isAtEnd });
    const timer = setTimeout(() => {
      end({ type: "hung" });
      child.kill("SIGKILL");
    }, commandMs);
    child.on("message", hear).once("exit", die);
    child.send({ id, ...order } satisfies Order);
  });
  return { outcome, stands: stands.promise };
}
