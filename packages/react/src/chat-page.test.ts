import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { answered, placeholder, question, said } from "../test/chat-server.ts";
import { openPage, type PageEvent, shownMessages, step } from "./chat-page.ts";
import type { DurableChatState, Page } from "./page-state.ts";
import type { Failure } from "./retry.ts";

const now = 1_000_000;
const moment = { now, random: 1 };

type Answering = DurableChatState["answering"];
const chat = (answering: Answering, ...messages: UIMessage[]) => ({
  ...{ messages, waiting: [], answering },
});
const [hi, hello, more] = [said("u1", "Hi"), answered("a1", "Hello"), said("u2", "More")];
const done = chat("no", hi, hello);
const unsaid = chat(undefined, hi, hello);
const others = chat("yes", hi, hello);
const call = { type: "dynamic-tool", toolName: "add", toolCallId: "1", input: {} } as const;
const pending = { ...call, state: "approval-requested", approval: { id: "approval 1" } } as const;
const delicate = chat("no", hi, { ...hello, parts: [pending] });
const taker = chat("yes", hi, hello, more);
const goner = chat("interrupted", hi, hello, more);
const broken = chat("failed", hi, hello, more);
const over = chat("no", hi, hello, more, answered("a2", "Yes"));
const alone = chat("no", hi);
const task = { ...question, type: "task" as const, pollAfter: now + 5_000 };
const works: DurableChatState = { messages: [placeholder(task)], waiting: [task] };
const overdueTask = { ...task, pollAfter: now - 1 };
const overdue: DurableChatState = { messages: [placeholder(task)], waiting: [overdueTask] };
const free: DurableChatState = { messages: [placeholder(question)], waiting: [] };
const freed: DurableChatState = { ...free, answering: "no" };
const asks: DurableChatState = { ...free, waiting: [question] };

const passing = { error: new Error("502"), isPassing: true };
const lasting = { error: new Error("400"), isPassing: false };
const found = (state: DurableChatState, chunks = 0) => ({ type: "found", state, chunks }) as const;
const ended = (failure?: Failure, chunks = 0) => ({ type: "ended", failure, chunks }) as const;
const missed = { type: "missed", chunks: 0 } as const;
const itIsTime = { type: "due" } as const;

const opened = (state?: DurableChatState) => openPage(state, moment);
const after = (page: Page, ...events: PageEvent[]) =>
  events.reduce<Page>((before, event) => step(before, event, moment)[0], page);
const posting = after(opened(done), { type: "posted", message: more });
const astray = { ...posting, postedAt: now - 8_001, doubts: 1 };
const taken = after(posting, found(taker));
const pausing = after(posting, ended(passing), found(done));
const tired = { ...after(pausing, itIsTime, ended(passing)), attempts: 5 };
const failed = after(posting, ended(lasting), found(done));

/** What a page is at, the message that it still has to send, its timer, failure and doubts, and what it does. */
type Row = [name: string, page: Page, event: PageEvent, outcome: string];

const outcomeOf = ([page, effects]: ReturnType<typeof step>) => {
  const { at, unsent, dueAt, failure, doubts } = page;
  const timer = dueAt === undefined ? "" : `+${dueAt - now}`;
  const parts = [at, unsent?.id, timer, failure?.error.message, "?".repeat(doubts)].filter(Boolean);
  return `${parts.join(" ")} → ${effects.join(" ")}`;
};

const reads: Row[] = [
  ["shows a chat that is free", opened(), found(done), "ready → show"],
  ["waits for the first read", opened(), missed, "loading → "],
  ["follows an answer of others", opened(done), found(taker), "following → show"],
  ["goes on if its process is gone", opened(taker), found(goner), "pausing +0 → show"],
  ["waits for a person", opened(done), found(asks), "ready → show"],
  ["goes on after a person's answer", opened(asks), found(free), "ready +0 → show"],
  ["looks at a task in time", opened(done), found(works), "ready +5000 → show"],
  ["leaves it at that when nothing is new", opened(works), found(works), "ready +5000 → "],
  [
    "tells of an answer that failed",
    opened(taker),
    found(broken),
    "failed The answer broke off. → show",
  ],
  ["reads again without an answer", opened(done), found(alone), "checking ? → show"],
  ["tells if there is none", opened(alone), found(alone), "failed There is no answer. → show"],
  ["waits for a route without account", opened(done), found(unsaid), "ready → show"],
];

const watched = (state: DurableChatState, pollAfter = now): DurableChatState => ({
  ...state,
  waiting: [{ ...question, type: "watch", pollAfter, news: 0 }],
});
const worn = { ...after(opened(taker), found(watched(goner))), attempts: 5 };

const posts: Row[] = [
  [
    "gives up, although a worker looks at a watch meanwhile",
    after(worn, itIsTime, ended(passing)),
    found(watched(goner, now + 60_000)),
    "failed 502 → show",
  ],
  [
    "goes on once, although a worker looks at a watch meanwhile",
    after(opened(watched(freed)), itIsTime, ended()),
    found(watched(freed, now + 60_000)),
    "ready → show",
  ],
  ["reads what became of it", posting, ended(passing), "checking u2 502 → look"],
  ["knows by an answer that it arrived", posting, ended(passing, 1), "checking 502 → look"],
  ["stays while the server answers", taken, found(taker), "posting u2 → "],
  ["stays while an answer comes", taken, found(goner, 3), "posting → "],
  ["stays while it may be on its way", posting, found(done), "posting u2 → "],
  ["doubts when nobody answers", taken, found(goner), "posting u2 ? → "],
  [
    "leaves at the second doubt",
    after(taken, found(goner)),
    found(goner),
    "pausing +0 → leave show",
  ],
  [
    "leaves what went astray",
    astray,
    found(done),
    "pausing u2 +1000 The server does not answer. → leave show",
  ],
  [
    "goes on again if that went astray",
    { ...after(opened(freed), itIsTime), postedAt: now - 8_001, doubts: 1 },
    found(freed),
    "pausing +1000 The server does not answer. → leave show",
  ],
  ["stays at one lost read", posting, missed, "posting u2 ? → "],
  ["leaves at the second lost read", after(taken, missed), missed, "checking u2 → leave"],
  [
    "does so with one that perhaps went astray",
    after(posting, missed),
    missed,
    "checking u2 The server does not answer. → leave",
  ],
  [
    "stays if only reads are lost",
    after(posting, missed),
    { ...missed, chunks: 1 },
    "posting u2 → ",
  ],
  ["forgets what is stopped", posting, { type: "stopped" }, "posting → "],
];

const checks: Row[] = [
  ["is done", after(posting, ended()), found(over), "ready → show"],
  [
    "sends what did not arrive",
    after(posting, ended(passing)),
    found(done),
    "pausing u2 +1000 502 → show",
  ],
  [
    "sends what was refused for another",
    after(posting, ended()),
    found(done),
    "pausing u2 +1000 → show",
  ],
  ["follows what did arrive", after(posting, ended(passing)), found(taker), "following → show"],
  [
    "keeps it for after others' answer",
    after(posting, ended()),
    found(others),
    "following u2 → show",
  ],
  [
    "sends nothing twice without account",
    after(posting, ended(passing)),
    found(unsaid),
    "failed u2 502 → show",
  ],
  ["tells what does not pass", after(posting, ended(lasting)), found(done), "failed u2 400 → show"],
  [
    "tells that an approval is lost",
    after(opened(delicate), { type: "posted", message: undefined }, ended(passing)),
    found(delicate),
    "failed 502 → show",
  ],
  ["reads until it knows", after(posting, ended(passing)), missed, "checking u2 502 → "],
  [
    "goes on once for a reason",
    after(opened(free), itIsTime, ended()),
    found(free),
    "ready → show",
  ],
  [
    "asks a server less and less often that does not tell more",
    after(opened(overdue), itIsTime, ended(), found(overdue), itIsTime, ended()),
    found(overdue),
    "ready +4000 → show",
  ],
  [
    "asks it as at first when it has told more",
    after(opened(overdue), itIsTime, ended(), found(overdue), itIsTime, ended()),
    found({ ...overdue, waiting: [{ ...overdueTask, statusMessage: "half" }] }),
    "ready +1000 → show",
  ],
  [
    "again if that was lost",
    after(opened(free), itIsTime, ended(passing)),
    found(free),
    "pausing +1000 502 → show",
  ],
];

const atPauses: Row[] = [
  // Behind a proxy that takes turns each POST would be for the same process, which may be frozen.
  ["lets a look go before it", pausing, itIsTime, "posting u2 → look post"],
  ["sends it when the browser is online", pausing, { type: "online" }, "pausing u2 +0 502 → "],
  ["sends it when a person says so", pausing, { type: "told" }, "posting u2 → post"],
  ["stays when nothing is new", pausing, found(done), "pausing u2 +1000 502 → "],
  ["sees that it has arrived", pausing, found(taker), "following → show"],
  ["gives up when a person says so", pausing, { type: "stopped" }, "failed u2 502 → "],
  [
    "gives up what is no error, too",
    after(opened(taker), found(goner)),
    { type: "stopped" },
    "failed Stopped. → ",
  ],
  ["gives up after some attempts", tired, found(done), "failed u2 502 → show"],
  ["counts only attempts since the last news", tired, found(over), "ready → show"],
];

const failures: Row[] = [
  ["tries again when a person says so", failed, { type: "told" }, "posting u2 → post"],
  ["sends another message", failed, { type: "posted", message: said("u3", "So") }, "posting u3 → "],
  ["is not sent because others go on", failed, found(others), "failed u2 400 → show"],
  ["sees that it has arrived", failed, found(over), "ready → show"],
  ["sees that others have gone on", opened(broken), found(taker), "following → show"],
  ["stays when nothing is new", failed, found(done), "failed u2 400 → "],
  ["is forgotten when a person says so", failed, { type: "cleared" }, "ready → "],
  ["goes on without an account", opened(chat(undefined, hi)), { type: "told" }, "posting → post"],
  ["reads when nothing has failed", opened(done), { type: "told" }, "ready → look"],
];

describe.each([
  ["a read", reads],
  ["a POST", posts],
  ["after a POST", checks],
  ["a pause", atPauses],
  ["a failure", failures],
])("%s", (_, rows) => {
  it.each(rows)("%s", (_name, page, event, outcome) => {
    expect(outcomeOf(step(page, event, moment))).toBe(outcome);
  });
});

it("begins with short pauses when the browser is online", () => {
  const late = { ...pausing, attempts: 4 };
  const failing = [ended(passing), found(done)] as const;
  for (const events of [
    [{ type: "online" }, itIsTime],
    [itIsTime, { type: "online" }],
  ] as const) {
    expect(after(late, ...events, ...failing).dueAt! - now).toBe(1_000);
  }
});

it("waits longer from attempt to attempt, at most 30 s", () => {
  const pauses = [0, 1, 2, 3, 4].map((attempts) => {
    return after({ ...tired, attempts }, found(done)).dueAt! - now;
  });
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
});

it("shows what was said here, and an answer as far as it has come", () => {
  const part = answered("a9", "Yes, for");
  const following = after(taken, ended(passing, 1), found(taker));
  expect(shownMessages(pausing, [])).toEqual([hi, hello, more]);
  expect(shownMessages(following, [hi, hello, more, part])).toEqual([hi, hello, more, part]);
  expect(shownMessages(following, [hi, hello])).toEqual([hi, hello, more]);
  expect(shownMessages(opened(done), [hi, hello, part])).toEqual([hi, hello]);
});
