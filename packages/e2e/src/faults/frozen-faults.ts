import { spawn } from "node:child_process";
import { availableParallelism, setPriority } from "node:os";
import { McpSessionError, type McpSessionErrorCode } from "@durable-mcp/core";
import { forkProgram } from "../durable/fork-program.ts";
import { startStorePlace, type StoreKind } from "../durable/store-place.ts";
import { availableStores, skippedStores, storeNames } from "./available-stores.ts";
import type { Chat } from "./chat.ts";
import type { Family, Fault, Round } from "./fault.ts";
import type { FrozenChatsReport, FrozenChatsTask, ToldChat } from "./frozen-chats-protocol.ts";
import { soon, wholeOf } from "./misbehaviour.ts";
import { openServerWorld, type ServerWorld } from "./server-world.ts";
import { shortTimes } from "./waits.ts";

type Program = ReturnType<typeof forkProgram<FrozenChatsTask, FrozenChatsReport>>;
type Step = Extract<FrozenChatsTask, { type: "step" }>;

interface FrozenWorld extends ServerWorld {
  readonly program: Program;
}

async function openFrozenWorld(kind: StoreKind, times = shortTimes): Promise<FrozenWorld> {
  const { remove, ...place } = await startStorePlace(kind);
  const served = await openServerWorld();
  const program: Program = forkProgram("../faults/frozen-chats-program.ts");
  program.send({ type: "open", place, url: served.front.url, times });
  await program.receive();
  return {
    ...served,
    program,
    async close() {
      await program.kill();
      await served.close();
      await remove();
    },
  };
}

/** What an application has that sets none. */
const defaultTimes = { connectMs: 10_000, answerMs: 300_000, storeMs: 15_000, closeMs: 10_000 };

/** Longer than any limit of a request, and of an operation of the store. */
const frozenMs = shortTimes.connectMs + 1_500;

const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function thawLater(program: Program): Promise<void> {
  await after(frozenMs);
  program.signal("SIGCONT");
}

/** The process of two chats stands still when the answer is in its socket. Nothing is wrong but that. */
function frozen(
  name: string,
  at: { readonly method: string } | { readonly operation: "get" | "put" },
  isFirst: boolean,
): Fault<FrozenWorld> {
  return {
    name,
    async round(round, world) {
      const { front, program } = world;
      const chats = newChats(round, world, 2);
      if (!isFirst) await step(world, chats, { plan: { calls: 1 } });
      let isMet = false;
      const freezing = async () => {
        isMet = true;
        await thawLater(program);
      };
      if ("method" in at) freezeAtAnswer(world, at.method, freezing);
      const freezesAt = "operation" in at ? { freezesAt: at.operation } : {};
      try {
        await step(world, chats, { plan: { calls: 2 }, ...freezesAt }, freezing);
      } finally {
        front.heal();
        program.signal("SIGCONT");
      }
      if (!isMet) round.fault("it did not meet its fault");
      // At once: nobody may be told that the server is away.
      const later = newChats(round, world, 2);
      const both = [...chats, ...later];
      enter(round, both, await step(world, both, { plan: { calls: 1, reads: true } }));
    },
  };
}

function freezeAtAnswer(
  { front, program }: FrozenWorld,
  on: string,
  freezing: () => Promise<void>,
): void {
  front.meet(
    async ({ carryOut }) => {
      const { body, ...answer } = await wholeOf(await carryOut());
      program.signal("SIGSTOP");
      await soon();
      void freezing();
      return new Response(body, answer);
    },
    { on, times: 1 },
  );
}

/** One process has very many first steps, and all cores have other work. */
function starved(name: string, chatsAtOnce: number): Fault<FrozenWorld> {
  return {
    name,
    async round(round, world) {
      const chats = newChats(round, world, chatsAtOnce);
      const burners = Array.from({ length: 2 * availableParallelism() }, startBurner);
      try {
        const plan = { calls: 1, reads: true };
        enter(round, chats, await step(world, chats, { plan }));
      } finally {
        for (const burner of burners) burner.kill("SIGKILL");
      }
    },
  };
}

/** Keeps a core busy for a minute at most, and stands back from what else this machine has to do. */
function startBurner() {
  const code = "const end = Date.now() + 60_000; while (Date.now() < end);";
  const burner = spawn(process.execPath, ["-e", code], { stdio: "ignore" });
  if (burner.pid !== undefined) setPriority(burner.pid, 5);
  return burner;
}

function newChats(round: Round, { front }: FrozenWorld, count: number): Chat[] {
  return Array.from({ length: count }, () => round.chat({ url: front.url, keepsSession: true }));
}

async function step(
  { program }: FrozenWorld,
  chats: readonly Chat[],
  task: Omit<Step, "type" | "ids">,
  freezing?: () => Promise<void>,
): Promise<readonly ToldChat[]> {
  program.send({ type: "step", ids: chats.map(({ options }) => options.id), ...task });
  for (;;) {
    const said = await program.receive();
    if (said.type === "stepped") return said.chats;
    if (said.type === "freezing") await freezing?.();
  }
}

/** Enters what the process says of its chats, as if they had been here. All of their calls have to be answered. */
function enter(round: Round, chats: readonly Chat[], told: readonly ToldChat[]): void {
  for (const [index, chat] of chats.entries()) {
    const { calls, log, faults, notes } = told[index]!;
    for (const { outcome, ...call } of calls) {
      if (outcome.type === "answered") {
        chat.calls.push({ ...call, outcome });
        continue;
      }
      const { code, words } = outcome;
      const error = new McpSessionError(code as McpSessionErrorCode, words);
      chat.calls.push({ ...call, outcome: { type: "failed", error } });
      round.fault(`not answered, with nothing wrong at the server: ${call.text}: ${words}`);
    }
    chat.log.push(...log);
    chat.faults.push(...faults);
    chat.notes = notes;
  }
}

const atAnswers = ["initialize", "notifications/initialized", "tools/list"].map((method) =>
  frozen(`frozen at the answer to ${method}`, { method }, true),
);

export const frozenFamily: Family = {
  name: "frozen",
  rounds: 4,
  groups: [
    {
      openWorld: () => openFrozenWorld("sqlite"),
      faults: [
        ...atAnswers,
        frozen("frozen at the answer to a call", { method: "tools/call" }, false),
      ],
    },
    ...availableStores.map((kind) => ({
      openWorld: () => openFrozenWorld(kind),
      faults: [
        frozen(`${storeNames[kind]}: frozen while it is read`, { operation: "get" }, false),
        frozen(`${storeNames[kind]}: frozen while it is written`, { operation: "put" }, true),
      ],
    })),
  ],
  skipped: skippedStores,
};

export const starvedFamily: Family = {
  name: "starved",
  rounds: 2,
  groups: [
    {
      openWorld: () => openFrozenWorld("sqlite", defaultTimes),
      faults: [100, 300].map((count) => starved(`${count} chats at once beside busy cores`, count)),
    },
  ],
  skipped: [],
};
