import { expect, test } from "vitest";
import { callsOf, killDuringCall } from "../../test/killed-run.ts";
import { textOf } from "../../test/test-app.ts";

test("a call that was interrupted by kill -9 is not made again, and the session goes on", async () => {
  const { server, results } = await killDuringCall("stateful");
  expect(results[1]![0]).toEqual({
    code: "OUTCOME_UNKNOWN",
    message: expect.stringContaining("the step that called wait was interrupted"),
  });
  expect(textOf(results[2]![0])).toBe("milk");
  expect(callsOf(server, "wait")).toBe(1);
  expect(callsOf(server, "add_note")).toBe(1);
  expect(server.log.filter((line) => line === "POST initialize")).toHaveLength(1);
});
