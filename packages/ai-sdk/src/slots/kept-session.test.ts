import type { ActiveSessionSnapshot, SessionSnapshot } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { defineMcpClientConnection } from "../connection/define-connection.ts";
import {
  afterEnd,
  describeKept,
  type EndMode,
  type KeptSession,
  lostSnapshot,
  planEnd,
} from "./kept-session.ts";

const url = "https://notes.example/mcp";
const definition = defineMcpClientConnection({ url, description: "Notes.", session: "stateful" });
const session = (fields: Partial<ActiveSessionSnapshot> = {}): ActiveSessionSnapshot => ({
  version: 1,
  kind: "session",
  url,
  sessionId: "secret",
  initializeResult: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    serverInfo: { name: "notes", version: "1.0.0", title: "Notes" },
  },
  clientCapabilities: {},
  ...fields,
});
const lost: SessionSnapshot = { version: 1, kind: "sessionless", url, lost: {} };
const sessionless: SessionSnapshot = { version: 1, kind: "sessionless", url };
const toolList = { tools: [{ name: "add", inputSchema: {} }], listedAt: 5 };
const modes: EndMode[] = ["restart", "idle", "end", "sweep", "delete"];

describe("what is told", () => {
  test("has the server, the tools and the times, and no id", () => {
    const kept = { snapshot: session({ toolList }), startedAt: 1, idleTimeoutMs: 9 };
    expect(describeKept(kept, 7)).toEqual({
      kind: "session",
      lastUsedAt: 7,
      idleTimeoutMs: 9,
      startedAt: 1,
      protocolVersion: "2025-11-25",
      server: { name: "notes", version: "1.0.0" },
      tools: { count: 1, listedAt: 5 },
    });
  });

  test("of what is no session is its kind", () => {
    expect(describeKept({ snapshot: lost, startedAt: 1 }, 7)).toEqual({
      kind: "lost",
      lastUsedAt: 7,
    });
    expect(describeKept(undefined, 0)).toEqual({ kind: "invalid", lastUsedAt: 0 });
  });
});

const plan = (kept: KeptSession | undefined, mode: EndMode, isNamed = true) =>
  planEnd(kept, { definition, mode, isNamed });
const acts = (kept: KeptSession | undefined, isNamed: boolean) =>
  modes.map((mode) => plan(kept, mode, isNamed).act);

describe("a plan to end", () => {
  test.each(modes)("has the session and the left-overs at its URL, with %s", (mode) => {
    const [own, left, elsewhere] = [
      session(),
      session({ sessionId: "left" }),
      session({ url: `${url}/2` }),
    ];
    expect(plan({ snapshot: own, ending: [left] }, mode)).toEqual({
      act: "end",
      sessions: [left, own],
      outcome: { ended: true },
    });
    expect(plan({ snapshot: own, ending: [elsewhere] }, mode)).toEqual({
      act: "end",
      sessions: [own],
      outcome: { ended: false, reason: "undeclared" },
    });
  });

  test.each(modes)("of what is at another URL forgets it, or that it is lost, with %s", (mode) => {
    const outcome = { ended: false, reason: "undeclared" };
    const forgotten = { act: "forget", sessions: [], outcome };
    const elsewhere = session({ url: `${url}/2` });
    const isRestart = mode === "restart" || mode === "idle";
    const lose = { act: "lose", sessions: [elsewhere], outcome };
    expect(plan({ snapshot: elsewhere }, mode)).toEqual(isRestart ? lose : forgotten);
    const none = planEnd({ snapshot: session() }, { definition: undefined, mode, isNamed: true });
    expect(none).toEqual(forgotten);
  });

  test("leaves a name that is restarted, and forgets everything else without a session", () => {
    const forget = ["forget", "forget", "forget"];
    expect(acts({ snapshot: sessionless }, true)).toEqual(["leave", "leave", ...forget]);
    expect(acts({ snapshot: sessionless }, false)).toEqual(["forget", "forget", ...forget]);
    expect(acts({ snapshot: lost }, false)).toEqual(["leave", "leave", ...forget]);
    expect(acts(undefined, true)).toEqual(["lose", "lose", ...forget]);
  });
});

test.each([
  ["restart", "lost", "again", "again"],
  ["idle", "lost", "again", "again"],
  ["end", "forget", "again", "again"],
  ["sweep", "forget", "again", "forget"],
  ["delete", "forget", "forget", "forget"],
] as const)("after %s: %s; of a failure %s, of a second one %s", (mode, ...expected) => {
  expect([
    afterEnd(mode, { failed: false, wasTried: false }),
    afterEnd(mode, { failed: true, wasTried: false }),
    afterEnd(mode, { failed: true, wasTried: true }),
  ]).toEqual(expected);
});

test("a session that was ended is lost, at its URL", () => {
  expect(lostSnapshot(session())).toEqual(lost);
});
