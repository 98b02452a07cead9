import { createMemoryStore } from "@durable-mcp/core";
import type { Chat, ChatOptions } from "./chat.ts";
import type { Family, Fault, Round } from "./fault.ts";
import * as acts from "./misbehaviour.ts";
import { shortTimes, waitsAfterLoss } from "./waits.ts";
import { openServerWorld, type ServerWorld } from "./server-world.ts";

interface ServerFaultOptions {
  /** Whether the step must not notice: what cannot be done twice is tried once more. @default false */
  readonly isHidden?: boolean;
  /** Whether it is all requests that are hit, instead of the first one. @default false */
  readonly isLasting?: boolean;
  readonly chat?: Partial<ChatOptions>;
}

/** While steps that go on in their sessions call tools. */
export function atCall(
  name: string,
  begin: acts.Begin,
  options: ServerFaultOptions = {},
): Fault<ServerWorld> {
  const times = options.isLasting ? undefined : 1;
  return inTurn(name, "call", ({ front }) => begin(front, { times }), options);
}

/** While steps make their sessions. */
function atOpen(
  name: string,
  on: string,
  begin: acts.Begin,
  options: ServerFaultOptions = {},
): Fault<ServerWorld> {
  const times = (options.isLasting ?? true) ? undefined : 1;
  return inTurn(name, "open", ({ front }) => begin(front, { on, times }), options);
}

const atPages = (name: string, next: string) =>
  atOpen(name, "tools/list", acts.meets(acts.cursor(next)), { isHidden: true });

/** A step before or after it, the step that meets it, and a step when all is well again. */
function inTurn(
  name: string,
  at: "call" | "open",
  begin: (world: ServerWorld) => unknown,
  { chat: options, isHidden = false }: ServerFaultOptions,
): Fault<ServerWorld> {
  return {
    name,
    async round(round, world) {
      const { front, server } = world;
      // What is counted afterwards is of this round.
      await server.forget();
      const chats = newChats(round, front.url, options);
      const heal = () => healed(world);
      const atOnce = round.random() < 0.5;
      try {
        if (at === "call") {
          await all(chats, (chat) => chat.step({ calls: 2, isHealthy: true }));
          const opened = meet(chats.length, async () => void (await begin(world)));
          const ending = meet(chats.length, heal);
          await all(chats, (chat) => chat.step({ calls: 3, atOnce, opened, ending }));
        } else {
          await begin(world);
          await all(chats, (chat) => chat.step({ calls: 2, atOnce, isHealthy: isHidden }));
          await heal();
          await all(chats, (chat) => chat.step({ calls: 2, isHealthy: true }));
        }
      } finally {
        await heal();
      }
      await all(chats, (chat) => chat.step({ calls: 1, isHealthy: true, reads: true }));
      const { sessions } = await server.stats();
      if (sessions > chats.length) {
        round.fault(`left behind: ${sessions} sessions on the server, for ${chats.length} chats`);
      }
    },
  };
}

/** Two at once; in every other round the application carries their state itself. */
function newChats(round: Round, url: string, options: ServerFaultOptions["chat"]) {
  const store = round.number % 2 === 0 ? createMemoryStore() : undefined;
  return [0, 1].map(() => round.chat({ url, store, ...options }));
}

async function all<T>(items: readonly T[], use: (item: T) => Promise<unknown>): Promise<void> {
  await Promise.all(items.map(use));
}

/** Waits until all have come, or until one has waited for long; acts once, and lets all go on. */
function meet(count: number, act: () => Promise<void>): () => Promise<void> {
  const acted = Promise.withResolvers<void>();
  let missing = count;
  return async () => {
    missing -= 1;
    const timer = setTimeout(() => acted.resolve(act()), missing === 0 ? 0 : 3_000);
    await acted.promise;
    clearTimeout(timer);
  };
}

/** Ends what is wrong. */
async function healed({ front }: ServerWorld): Promise<void> {
  front.heal();
  await front.up();
}

const refused = async ({ front }: ServerWorld) => {
  await front.down();
  // Until then the client may take a connection that it kept for one that is open.
  await acts.soon();
};

/** The session is well, whatever is wrong with the call. */
const kept: ServerFaultOptions = { chat: { keepsSession: true } };
export const lasting: ServerFaultOptions = { ...kept, isLasting: true };
const once: ServerFaultOptions = { isLasting: false, isHidden: true };
const lost: ServerFaultOptions = { chat: { waits: waitsAfterLoss(shortTimes) } };
const refusedAll: ServerFaultOptions = { chat: { ...lost.chat, keepsSession: true } };

const faults: Fault<ServerWorld>[] = [
  inTurn("connection refused, at the first step", "open", refused, {}),
  inTurn("connection refused, at calls", "call", refused, kept),
  atCall("reset before the call was taken", (front, on) => front.reset(on), kept),
  atCall(
    "reset before headers, the call carried out",
    (front, on) => front.reset({ ...on, carriedOut: true }),
    kept,
  ),
  atCall("reset after headers", acts.meets(acts.resetAfterHeaders), kept),
  atCall("reset in the middle of the body", (front, on) => front.cutStreams(on), kept),
  atCall(
    "answer stream ends without the answer",
    (front, on) => front.cutStreams({ ...on, quietly: true }),
    kept,
  ),
  ...[500, 502, 503, 429].flatMap((status) => [
    atOpen(`HTTP ${status} to initialize`, "initialize", acts.refuse(status)),
    atCall(`HTTP ${status} to calls`, acts.refuse(status), lasting),
  ]),
  atOpen("HTTP 503 once, to initialize", "initialize", acts.refuse(503), once),
  atOpen("HTTP 503 once, to tools/list", "tools/list", acts.refuse(503), once),
  atOpen("HTTP 429 once, with Retry-After, to tools/list", "tools/list", acts.tooMany, {
    ...once,
    // A second of it is the server's.
    chat: { times: { connectMs: 4_000 } },
  }),
  atOpen("reset once, of initialize", "initialize", (front, on) => front.reset(on), once),
  atOpen("HTTP 503 to notifications/initialized", "notifications/initialized", acts.refuse(503)),
  atOpen("HTTP 503 to tools/list", "tools/list", acts.refuse(503)),
  atCall(
    "HTTP 504, the call carried out",
    (front, on) => front.refuse(504, { ...on, carriedOut: true }),
    kept,
  ),
  atCall("endless body of HTTP 500", acts.meets(acts.endlessRefusal), kept),
  atOpen("endless body of HTTP 500, to initialize", "initialize", acts.meets(acts.endlessRefusal)),
  atCall(
    "no headers, the call carried out",
    (front, on) => front.hang({ ...on, carriedOut: true }),
    kept,
  ),
  atCall("headers, then silence", acts.meets(acts.headersThenHang), kept),
  atCall("signs of life for ever, and no answer", acts.meets(acts.heartbeatForEver), {
    chat: { keepsSession: true, times: { callMs: 1_500 } },
  }),
  atOpen("initialize hangs", "initialize", acts.hang),
  atOpen("initialize hangs after its headers", "initialize", acts.meets(acts.headersThenHang)),
  atOpen("notifications/initialized hangs", "notifications/initialized", acts.hang),
  atOpen("tools/list hangs", "tools/list", acts.hang),
  atOpen("HTTP 404 to all during a deploy, first step", "initialize", acts.refuse(404)),
  inTurn(
    "HTTP 404 to all during a deploy, at calls",
    "call",
    ({ front }) => front.refuse(404, { on: "*" }),
    refusedAll,
  ),
  inTurn(
    "HTTP 404 of another meaning, to calls",
    "call",
    ({ front }) => front.meet(acts.notFoundResource, { on: "*" }),
    kept,
  ),
  inTurn(
    "HTTP 400 about another session",
    "call",
    ({ front }) => front.meet(acts.otherSessionExpired, { on: "*" }),
    refusedAll,
  ),
  inTurn("server forgets its sessions", "call", ({ server }) => server.forget(), lost),
  inTurn("server killed and started again", "call", ({ server }) => server.restart(), lost),
  atOpen("HTML instead of MCP, to initialize", "initialize", acts.malformed("html")),
  atCall("HTML instead of MCP, to calls", acts.malformed("html"), kept),
  required("a required connection, its server refuses connections", refused),
  required("a required connection, its server hangs", hangs),
  wrongPath("wrong path in the URL", {}),
  wrongPath("wrong path in the URL, and nobody takes events", { isDeaf: true }),
  atCall("JSON that is cut off", acts.malformed("cut-json"), kept),
  atCall("byte order mark before an answer of several lines", acts.meets(acts.byteOrderMark), kept),
  atCall("event ids outside Latin-1, then a broken stream", acts.meets(acts.oddEventId), kept),
  atPages("the same cursor again and again", "again"),
  atPages("an empty cursor", ""),
  atCall("answer to another id", acts.malformed("other-id"), kept),
];

/** No step begins without a connection that it needs, although its tools are known from the step before. */
function required(name: string, dies: (world: ServerWorld) => Promise<void>): Fault<ServerWorld> {
  return {
    name,
    async round(round, world) {
      const { front } = world;
      const chats = newChats(round, front.url, { keepsSession: true, required: true });
      const begun = (chat: Chat) =>
        chat.step({ calls: 2, opened: () => round.fault("a step began without its server") });
      await all(chats, (chat) => chat.step({ calls: 2, isHealthy: true }));
      try {
        await dies(world);
        await all(chats, begun);
      } finally {
        await healed(world);
      }
      await all(chats, (chat) => chat.step({ calls: 1, isHealthy: true, reads: true }));
    },
  };
}

async function hangs({ front }: ServerWorld): Promise<void> {
  front.hang({ on: "*" });
}

/** The application does not notice by itself. */
function wrongPath(name: string, options: Partial<ChatOptions>): Fault<ServerWorld> {
  return {
    name,
    async round(round, { front }) {
      const url = `${front.origin}/mpc`;
      // There never is a session.
      const chat = round.chat({ url, isStateless: true, ...options });
      for (let step = 1; step <= 3; step += 1) await chat.step({ calls: 2 });
    },
  };
}

export const serverFamily: Family = {
  name: "server",
  rounds: 6,
  groups: [{ openWorld: openServerWorld, worlds: 4, faults }],
  skipped: [],
};
