import type { UIMessage } from "ai";
import { expect, it } from "vitest";
import { answered, said } from "../test/chat-server.ts";
import { openPage, type PageEvent, step } from "./chat-page.ts";
import type { DurableChatState, Page } from "./page-state.ts";
import { failureOf } from "./retry.ts";

/** Numbers from 0 to 1, the same for a seed. */
function randomOf(seed: number): () => number {
  let state = seed + 0x6d2b79f5;
  return () => {
    state = Math.imul(state ^ (state >>> 15), state | 1);
    state ^= state + Math.imul(state ^ (state >>> 7), state | 61);
    return ((state ^ (state >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A server that answers each message once, whose processes die, behind a network that loses what it likes. */
function createWorld(random: () => number) {
  const world = {
    now: 0,
    isHealed: false,
    begun: [] as string[],
    state: { messages: [], waiting: [], answering: "no" } as DurableChatState,
    is: (share: number) => !world.isHealed && random() < share,
    set(answering: DurableChatState["answering"], ...more: UIMessage[]) {
      const messages = [...world.state.messages, ...more];
      world.state = { ...world.state, messages, answering };
    },
    /** What another process does meanwhile. */
    work() {
      if (world.state.answering === "yes") {
        if (world.is(0.3)) world.set(world.is(0.7) ? "interrupted" : "failed");
        else if (random() < 0.5) world.set("no", answered(`a${world.begun.length}`, "Yes"));
      } else if (world.is(0.02)) world.set("yes");
    },
    /** A POST, as it arrives. `false`: refused, for somebody answers. */
    take(message: UIMessage | undefined): boolean {
      const { messages, answering } = world.state;
      const isThere = message !== undefined && messages.some(({ id }) => id === message.id);
      const isOwed = answering === "interrupted" || answering === "failed";
      if (answering === "yes" || (isThere && !isOwed)) return false;
      if (message) world.begun.push(message.id);
      world.set("yes", ...(message && !isThere ? [message] : []));
      return true;
    },
  };
  return world;
}

/** A page in that world, its user included. Gives how it ends. */
function walk(seed: number) {
  const random = randomOf(seed);
  const world = createWorld(random);
  let page: Page = openPage(world.state, { now: 0, random: 0.5 });
  let open: { failure?: object; chunks: number } | undefined;
  let isReadDue = false;
  const seen = new Set<string>();
  const said502 = Object.assign(new Error("502"), { status: 502 });

  const dispatch = (event: PageEvent) => {
    const [next, effects] = step(page, event, { now: world.now, random: random() });
    page = next;
    seen.add(page.at);
    for (const effect of effects) {
      if (effect === "look") isReadDue = true;
      if (effect === "leave") open = undefined;
      if (effect === "post") send(page.unsent);
    }
  };
  const send = (message: UIMessage | undefined) => {
    dispatch({ type: "posted", message });
    const isLost = world.is(0.3);
    const isTaken = !isLost && world.take(message);
    // Lost before or after it arrived, astray for ever, refused, or open.
    if (isLost || (isTaken && world.is(0.3)))
      open = world.is(0.3) ? { chunks: -1 } : { failure: said502, chunks: 0 };
    else open = isTaken ? { chunks: 1 } : { failure: { status: 409 }, chunks: 0 };
  };
  const tick = () => {
    world.now += 1_000;
    world.work();
    if (
      open &&
      open.chunks >= 0 &&
      (open.failure || world.state.answering !== "yes" || world.is(0.2))
    ) {
      const { failure = world.is(0.2) ? said502 : undefined, chunks } = open;
      open = undefined;
      dispatch({ type: "ended", failure: failure && failureOf(failure), chunks });
    }
    if (page.dueAt !== undefined && page.dueAt <= world.now) dispatch({ type: "due" });
    if (world.is(0.1)) dispatch({ type: "online" });
    const isLook = isReadDue || page.at !== "ready";
    isReadDue = false;
    const chunks = open && open.chunks > 0 && world.state.answering === "yes" ? 1 : 0;
    if (isLook && world.is(0.3)) dispatch({ type: "missed", chunks });
    else if (isLook) dispatch({ type: "found", state: world.state, chunks });
  };

  for (let i = 1; i <= 5; i += 1) {
    for (let t = 0; t < 40 && page.at !== "ready" && page.at !== "failed"; t += 1) tick();
    if (page.at === "ready" || page.at === "failed") send(said(`u${i}`, "Hi"));
    for (let t = 0; t < random() * 30; t += 1) tick();
  }
  world.isHealed = true;
  // The page is shown.
  isReadDue = true;
  for (let t = 0; t < 120; t += 1) tick();
  const hasFailed = page.at === "failed";
  for (let t = 0; t < 3 && page.at === "failed"; t += 1) {
    dispatch({ type: "told" });
    for (let s = 0; s < 60; s += 1) tick();
  }
  return { page, world, seen, hasFailed };
}

it("ends by itself in the right page, or after a click if it has given up, and begins no answer twice", () => {
  const seen = new Set<string>();
  let failed = 0;
  for (let seed = 1; seed <= 2_000; seed += 1) {
    const end = walk(seed);
    for (const at of end.seen) seen.add(at);
    failed += Number(end.hasFailed);
    const { at, unsent, failure, state } = end.page;
    const stands = { seed, at, unsent, failure, state };
    expect(stands).toEqual({
      ...{ seed, at: "ready", unsent: undefined, failure: undefined, state: end.world.state },
    });
    expect(end.world.state.messages.at(-1)?.role ?? "assistant").toBe("assistant");
    expect(new Set(end.world.begun).size, `seed ${seed}`).toBe(end.world.begun.length);
  }
  expect(seen.size).toBe(6);
  expect(failed).toBeLessThan(600);
});
