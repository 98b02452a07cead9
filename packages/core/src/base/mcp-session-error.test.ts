import { expect, test } from "vitest";
import { McpSessionError } from "./mcp-session-error.ts";

test("carries a code, data and a cause", () => {
  const cause = new Error("below");
  const error = new McpSessionError("SESSION_LOST", "gone", { data: { method: "ping" }, cause });
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({
    code: "SESSION_LOST",
    message: "gone",
    data: { method: "ping" },
    cause,
  });
  expect(error.name).toBe("McpSessionError");
  expect("cause" in new McpSessionError("SESSION_LOST", "gone")).toBe(false);
});

test("recognizes errors of another copy of the package", async () => {
  const copyUrl = `${new URL("mcp-session-error.ts", import.meta.url).href}?copy`;
  const copy = (await import(
    /* @vite-ignore */ copyUrl
  )) as typeof import("./mcp-session-error.ts");
  const error = new copy.McpSessionError("SESSION_LOST", "gone");
  expect(error).not.toBeInstanceOf(McpSessionError);
  expect(McpSessionError.isInstance(error)).toBe(true);
  expect(copy.McpSessionError.isInstance(new McpSessionError("SESSION_LOST", "gone"))).toBe(true);
});

test.each([
  ["another error", new Error("other")],
  ["a look-alike", { name: "McpSessionError", code: "SESSION_LOST", message: "gone", data: {} }],
  ["null", null],
  ["undefined", undefined],
  ["text", "SESSION_LOST"],
])("does not take %s for one of its own", (_, value) => {
  expect(McpSessionError.isInstance(value)).toBe(false);
});

test("shows no marker when printed", () => {
  const error = new McpSessionError("SESSION_LOST", "gone");
  expect(Object.keys(error).toSorted()).toEqual(["code", "data"]);
  expect(Object.getOwnPropertySymbols(error)).toEqual([]);
});
