import type { Counts, Invariant, Violation } from "./invariant-model.ts";
import { type Parts, realParts } from "./parts.ts";
import { createRandom } from "./random.ts";
import { createScheduler } from "./scheduler.ts";
import { withVirtualGlobals } from "./virtual-globals.ts";
import { createWaitingActor, type Told } from "./waiting-actors.ts";
import type { ActorPlan, WaitingPlan } from "./waiting-plan.ts";
import { createWaitingServer } from "./waiting-server.ts";
import { claimMs, createSimulatedStore } from "./waiting-store.ts";
import { createWaitingProcess, type WaitingProcess, type WaitingWorld } from "./waiting-world.ts";

/** How often a patient process looks at what is left of a call. */
const maxLooks = 40;

/** Runs the waiting calls of one schedule: processes that ask, answer and die, and then one that puts all in order. */
export async function runWaiting(seed: number, plan: WaitingPlan, parts: Parts = realParts) {
  const random = createRandom(seed ^ 0xca11);
  const scheduler = createScheduler(random);
  const violations: Violation[] = [];
  const counts: Counts = {};
  const world: WaitingWorld = {
    ...{ plan, random, scheduler },
    count: (name) => void (counts[name] = (counts[name] ?? 0) + 1),
    violate: (invariant: Invariant, message) => void violations.push({ invariant, message }),
    strikes(process, fault) {
      if (process.isSafe || !random.chance(plan.faults[fault])) return false;
      world.count(`waiting fault: ${fault}`);
      return true;
    },
  };
  const allStores = createSimulatedStore(world);
  const { storeOf, records, deleted } = allStores;
  const server = createWaitingServer(world, allStores);
  const told: Told = { settled: new Map(), rounds: new Map(), ended: new Map() };
  const actorOf = (process: WaitingProcess) =>
    createWaitingActor(process, {
      ...{ world, server, records, deleted, told },
      parts,
      store: storeOf(process),
    });

  const live = async (own: ActorPlan) => {
    const process = createWaitingProcess(own, world);
    await scheduler.turns(own.startsAfter);
    await Promise.race([actorOf(process).act(own), process.died]);
  };

  const forget = async () => {
    if (plan.forgetsAfter === undefined) return;
    await scheduler.turns(plan.forgetsAfter);
    server.streams.forget();
  };

  /** From every state some action leads to an end. */
  const putInOrder = async (principal: ActorPlan["principal"], name: string) => {
    const kind = "looker" as const;
    const own = {
      name,
      kind,
      principal,
      startsAfter: 0,
      times: 1,
      pauseMs: 0,
      leavesAfterMs: undefined,
    };
    const process = createWaitingProcess(
      { ...own, diesAt: undefined, clockAheadMs: 0 },
      world,
      true,
    );
    const actor = actorOf(process);
    const left = new Set<string>(records().map(({ id }) => id as string));
    /** What waits for a server that still has it can have no other end than the server's. */
    const kept = new Set<string>();
    for (let look = 0; look < maxLooks && left.size > 0; look += 1) {
      for (const id of left) {
        const found = await actor.waiting.find(id);
        if (found && isKept(id)) kept.add(id);
        if (found?.call.state === "waiting" && found.call.type !== "question") {
          await process.sleep(Math.max(0, (found.call.pollAfter ?? 0) - scheduler.now()));
          await actor.look();
          // The server may wait for an answer that is lost.
          await process.sleep(look * 1_000);
        } else if (found === undefined) left.delete(id); // another principal's
        else if (found.call.state === "waiting") await actor.answer(id, found.call);
        else if (found.call.state === "answering") await process.sleep(claimMs + 5_000);
        else {
          left.delete(id);
          actor.hear(found);
          if (kept.has(id) && found.call.state !== "settled")
            world.violate(
              "settleable",
              `${found.call.toolCallId} is ${found.call.state}, and its server had it`,
            );
        }
      }
    }
    for (const id of left) world.violate("settleable", `nobody can settle ${id}`);
  };

  const isKept = (id: string) => {
    const { state, held, expiresAt } = records().find((record) => record.id === id);
    const isOpen = state === "waiting" && held?.type === "stream" && plan.maxAgeMs > 50_000;
    return isOpen && expiresAt > scheduler.now() && server.streams.has(held.eventId);
  };

  const checkTold = () => {
    for (const record of records()) {
      const { id, state, round, answer, toolCallId } = record;
      const settled = told.settled.get(id);
      if (state === "expired" && server.streams.wasMade(toolCallId))
        world.violate("honest-failure", `${toolCallId} is expired, and a server took it`);
      if (settled !== undefined && (state !== "settled" || JSON.stringify(answer) !== settled)) {
        world.violate("answer-kept", `the settled result of ${toolCallId} is gone: ${state}`);
      }
      if (round < (told.rounds.get(id) ?? 0)) {
        world.violate("answer-kept", `a round of ${toolCallId} that was told is gone`);
      }
      const ended = told.ended.get(id);
      if (ended !== undefined && ended !== state) {
        world.violate("answer-kept", `${toolCallId} was ${ended}, and is ${state}`);
      }
    }
  };

  await withVirtualGlobals(scheduler, random, async () => {
    let isOver = false;
    const all = (async () => {
      await Promise.all([...plan.actors.map(live), forget()]);
      // What the dead have begun ends.
      await scheduler.turns(50);
      const people = new Map(
        plan.actors.map(({ principal }) => [JSON.stringify(principal), principal]),
      );
      for (const [index, principal] of [...people.values()].entries()) {
        await putInOrder(principal, `last${index + 1}`);
      }
      checkTold();
    })();
    const crash = (error: unknown) =>
      world.violate("settleable", `a process crashed: ${(error as Error).stack}`);
    all.catch(crash).finally(() => (isOver = true));
    const end = await scheduler.run(
      () => isOver,
      () => undefined,
    );
    if (end !== "over") world.violate("settleable", `the schedule was ${end}: a call never ended`);
  });
  return { violations, counts, trace: scheduler.trace };
}
