import { expect, test } from "vitest";
import { callsOf, dieAround, killDuringCall } from "../../test/killed-run.ts";
import { textOf } from "../../test/test-app.ts";

test.each([
  ["", {}],
  [" when the step function allows retries", { isRepeated: true }],
])(
  "a call that was interrupted by kill -9 is not made again%s, and the session goes on",
  async (_, further) => {
    const { server, results } = await killDuringCall("stateful", further);
    expect(results[1]![0]).toEqual({
      code: "OUTCOME_UNKNOWN",
      message: expect.stringContaining("the step that called wait was interrupted"),
    });
    expect(textOf(results[2]![0])).toBe("milk");
    expect(callsOf(server, "wait")).toBe(1);
    expect(callsOf(server, "add_note")).toBe(1);
    expect(server.log.filter((line) => line === "POST initialize")).toHaveLength(1);
  },
);

const safe = { mode: "stateful", resend: ["add_note"] } as const;

test.each([
  ["a call", "before", "stateful", { code: "OUTCOME_UNKNOWN" }, 0, ""],
  ["a call", "after", "stateful", { code: "OUTCOME_UNKNOWN" }, 1, "milk"],
  ["a call of a safe tool", "before", safe, {}, 1, "milk"],
  ["a call of a safe tool", "after", safe, {}, 2, "milk, milk"],
] as const)(
  "%s whose process died %s it is made again only if its tool is safe",
  async (_, when, session, result, calls, notes) => {
    const { server, results } = await dieAround(when, session);
    expect(results[1]![0]).toMatchObject(result);
    expect(textOf(results[2]![0])).toBe(notes);
    expect(callsOf(server, "add_note")).toBe(calls);
    expect(server.sessionIds).toHaveLength(1);
  },
);

test("a call of a safe tool that was interrupted is made again", async () => {
  const { server, results } = await killDuringCall({ mode: "stateful", resend: ["wait"] });
  expect(textOf(results[1]![0])).toBe("finished");
  expect(textOf(results[2]![0])).toBe("milk");
  expect(callsOf(server, "wait")).toBe(2);
  expect(server.log.filter((line) => line === "POST initialize")).toHaveLength(1);
});
