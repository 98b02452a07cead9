import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { asLog, callLines, type Line, lostSession, stepLines } from "../../test/event-lines.ts";
import { runCli, runCliJson } from "../../test/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "timeline-"));
afterAll(() => rmSync(folder, { recursive: true }));

const log = join(folder, "events.jsonl");
const page = join(folder, "timeline.html");

async function draw(lines: readonly Line[] | string, ...options: string[]) {
  writeFileSync(log, typeof lines === "string" ? lines : asLog(lines));
  const { json } = await runCliJson("timeline", log, "--out", page, ...options);
  return { json, html: readFileSync(page, "utf8") };
}

const waiting = (round: number, state: string) => ({ tool: "order", round, state });

/** The text of a page, without its markup. */
const words = (html: string) =>
  html
    .replace(/<style>.*?<\/style>|<script>.*?<\/script>/gs, "")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ");

describe("durable-mcp timeline", () => {
  test("shows steps with their processes, requests and calls, and what became of their session", async () => {
    const { json, html } = await draw(lostSession());
    expect(json.sessions).toMatchObject([
      {
        session: "5e551011",
        steps: [
          {
            number: 1,
            process: "100-abcdef",
            isEnded: true,
            durationMs: 400,
            requests: { cart: 4 },
            calls: 1,
          },
          { number: 2, requests: { cart: 1 } },
          { number: 3, requests: { cart: 6 } },
        ],
        sessions: [
          { lane: "cart", number: 1, end: "lost" },
          { lane: "cart", number: 2, end: "kept" },
        ],
      },
    ]);
    const text = words(html);
    for (const said of [
      "Step 1 400 ms process 100",
      "4 requests",
      "1 request",
      "session lost (404)",
      "cart: MCP session 1, lost",
      "2 h",
    ]) {
      expect(text).toContain(said);
    }
    // Twice drawn, for wide and for narrow screens, and once in words.
    expect(html.match(/data-row="s5e551011-step-3"/g)).toHaveLength(2);
    expect(html.match(/id="s5e551011-step-3"/g)).toHaveLength(1);
  });

  test("shows calls that waited: for how long, what was asked in between, and how it ended", async () => {
    const { json, html } = await draw([
      ...stepLines({ step: "1" }, ...callLines(0, 100, 1, { tool: "order", outcome: "waiting" }), [
        90,
        "waiting-call",
        waiting(1, "waiting"),
      ]),
      ...stepLines(
        { step: "2" },
        [60_000, "operation", { operation: "answer", tool: "order", number: 1, action: "started" }],
        [60_090, "waiting-call", waiting(2, "waiting")],
      ),
      // The answer to the second question was not carried out, so it waits again.
      ...stepLines(
        { step: "3" },
        [80_000, "operation", { operation: "answer", tool: "order", number: 1, action: "started" }],
        [80_090, "waiting-call", waiting(2, "waiting")],
      ),
      ...stepLines(
        { step: "4" },
        [90_000, "operation", { operation: "answer", tool: "order", number: 1, action: "started" }],
        [90_090, "waiting-call", waiting(2, "settled")],
      ),
      ...stepLines({ step: "5" }, [
        95_000,
        "waiting-call",
        { tool: "pay", round: 0, state: "waiting" },
      ]),
    ]);
    expect(json.sessions[0].waits).toEqual([
      { connection: "cart", tool: "order", state: "settled", rounds: 2, durationMs: 90_000 },
      { connection: "cart", tool: "pay", state: "waiting", rounds: 1 },
    ]);
    expect(words(html)).toContain("order waited for a person: 1 min 30 s");
    expect(words(html)).toContain("pay still waits for a sign-in");
  });

  test("says of a step without an end that its process may have died, and in which call", async () => {
    const { json, html } = await draw(stepLines({ step: "1" }, callLines(0, 0, 1)[0]));
    expect(json.sessions[0].steps).toMatchObject([{ isEnded: false, requests: {} }]);
    expect(words(html)).toContain("add_item: no end in the log");
    expect(words(html)).toContain("its process died");
  });

  test("says of a step that its model failed, although its end is in the log", async () => {
    const { json, html } = await draw([
      ...stepLines({ step: "1" }, [0, "started"], [400, "step-ended", { durationMs: 400 }]),
      ...stepLines(...([{ step: "2" }, [500, "resumed"]] as const), [
        900,
        "step-ended",
        { requests: 0, durationMs: 400, outcome: "failed" },
      ]),
    ]);
    expect(json.sessions[0].steps).toMatchObject([
      { isEnded: true, isFailed: false },
      { isEnded: true, isFailed: true },
    ]);
    const text = words(html);
    expect(text).toContain("the step failed");
    expect(text).toContain("The step failed, such as its model.");
    expect(text).not.toContain("ends with it");
  });

  test.each(["durationMs", "requests", "number", "round", "status", "lost", "time"])(
    "draws the other lines beside one with an absurd %s",
    async (field) => {
      const absurd = ["1e308", "-1e308", "1e999", "9007199254740993", "-5", "0.5", '""', "{}"];
      const times = ["+275760-09-13T00:00:00.000Z", "-271821-04-20T00:00:00.000Z", "1e308", ""];
      const values = field === "time" ? times.map((time) => JSON.stringify(time)) : absurd;
      const events = ["operation", "step-ended", "waiting-call", "lost", "log-gap"];
      const broken = values.flatMap((value, index) =>
        events.map((event) => {
          const fields = { event, action: "ended", operation: "call", tool: "a", state: "waiting" };
          const [line] = stepLines({ step: `${index + 10}` }, [0, event, fields]);
          return `${JSON.stringify(line).slice(0, -1)},"${field}":${value}}\n`;
        }),
      );
      const { json } = await draw(asLog(lostSession()) + broken.join(""));
      const steps: { requests: object }[] = json.sessions[0].steps;
      expect(steps.map(({ requests }) => requests)).toEqual(
        expect.arrayContaining([{ cart: 4 }, { cart: 1 }, { cart: 6 }]),
      );
    },
  );

  test("a session that was not lost after all goes on", async () => {
    const { json } = await draw(
      stepLines(
        { step: "1" },
        [0, "resumed"],
        [10, "lost", { status: 404 }],
        [20, "restored"],
        [30, "step-ended", { requests: 2, durationMs: 30 }],
      ),
    );
    expect(json.sessions[0].sessions).toEqual([{ lane: "cart", number: 1, end: "kept" }]);
  });

  test("escapes all that the log says", async () => {
    const hostile = `</script><script>alert(1)</script>"'><img src=x onerror=alert(2)>\u202Eevil\u0000`;
    const fields = {
      tool: hostile,
      name: hostile,
      reason: hostile,
      code: hostile,
      outcome: "failed",
    };
    const parts = { step: hostile, process: hostile, session: hostile, connection: hostile };
    const lines = stepLines(
      parts,
      [0, "started", { name: hostile }],
      ...callLines(10, 10, 1, fields),
      [30, hostile, fields],
      [40, "unavailable", fields],
      [50, "waiting-call", { ...fields, round: 1, state: "waiting" }],
      [60, "waiting-call", { ...fields, round: 1, state: hostile }],
    );
    const { html } = await draw(lines);
    const svg = join(folder, "hostile.svg");
    await runCli("timeline", log, "--svg", svg);
    for (const text of [html, readFileSync(svg, "utf8")]) {
      // The page's own script is the only one.
      expect(text.match(/<script/g)?.length ?? 0).toBe(text === html ? 1 : 0);
      expect(text).not.toMatch(/<img|<\/script><script|\u202E/);
      expect(text).not.toContain("\u0000");
      // The longest are cut in the picture.
      expect(text).toContain("&lt;/script&gt;");
    }
  });

  test("leaves out what is no line of a log, and a last line without an end, and says so", async () => {
    const [first, ...rest] = lostSession();
    const text = `${asLog([first!])}not json\n{"v":2}\n\n[1]\n${asLog(rest)}${asLog([{ v: 1, time: "2026-11-23T12:00:00Z", process: "1", event: "log-gap", lost: 3 }])}{"v":1,"time":"2026`;
    const { json } = await draw(text);
    expect(json.notes).toEqual([
      "3 lines of the log are not of an event log, and left out.",
      "The last line of the log has no end, and is left out.",
      "The log says that 3 events could not be written, so something may be missing.",
    ]);
    expect(json.sessions[0].steps).toHaveLength(3);
  });

  test("shows the latest of many, says so, and can be told which", async () => {
    const many = Array.from({ length: 30 }, (_, index) =>
      stepLines({ step: "1", session: `session${index}` }, [index * 1_000, "started"]),
    ).flat();
    const { json } = await draw(many);
    expect(json.sessions).toHaveLength(20);
    expect(json.notes[0]).toContain("30 agent sessions");
    const chosen = await draw(many, "--session", "session3");
    expect(chosen.json.sessions).toMatchObject([{ session: "session3" }]);
  });

  test.each([
    ["no log", ["/nowhere/events.jsonl"], /cannot be read.*createEventLog/, 1],
    ["a page that cannot be written", [log, "--out", "/nowhere/page.html"], /cannot be written/, 1],
    [
      "a session that the log does not have",
      [log, "--session", "none"],
      /no agent session none/,
      2,
    ],
    ["a picture of several sessions", [log, "--svg", page], /Choose one with --session: a, b/, 2],
  ])("fails on %s", async (_, argv, message, exitCode) => {
    writeFileSync(
      log,
      asLog(["a", "b"].flatMap((session) => stepLines({ step: "1", session }, [0, "started"]))),
    );
    const seen = await runCli("timeline", ...argv);
    expect(seen).toMatchObject({ exitCode, stdout: "" });
    expect(seen.stderr).toMatch(message);
  });

  test("fails on a log without a step", async () => {
    writeFileSync(log, "");
    expect(await runCli("timeline", log)).toMatchObject({ exitCode: 1, stdout: "" });
  });
});
