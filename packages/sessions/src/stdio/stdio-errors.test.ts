import { expect, test } from "vitest";
import { createStdioErrors, describeEnd } from "./stdio-errors.ts";

const errors = createStdioErrors("browser", { command: "/opt/bin/browser-mcp", cwd: undefined });
const at = { connection: "browser", origin: "stdio:browser-mcp" };
const ended = { type: "ended", exitCode: null, signal: null, isMute: false } as const;

test.each([
  [{ type: "not-started", reason: "EACCES" }, "could not be started (EACCES)"],
  [{ type: "supervisor-ended", signal: "SIGKILL" }, "was ended together with its supervisor"],
  [{ ...ended, exitCode: 3 }, "ended with exit code 3"],
  [{ ...ended, exitCode: 3, isMute: true }, "ended with exit code 3"],
  [{ ...ended, exitCode: 0, isMute: true }, "closed its stdout and was ended"],
  [{ ...ended, signal: "SIGKILL" }, "was ended by SIGKILL"],
] as const)("the end %j is told as it was", (end, told) => {
  expect(describeEnd(end)).toBe(told);
});

test.each([
  ["ENOENT", { ...at, field: "command" }, /no command .* set PATH in env/],
  ["E2BIG", { ...at, field: "args" }, /args and env are longer/],
  ["EACCES", { ...at, field: "command" }, /\(EACCES\): is .* a program/],
])("a server that cannot be started (%s) names the field to mend", (reason, data, message) => {
  const error = errors.notStarted(reason);
  expect(error).toMatchObject({ code: "CONNECTION_UNAVAILABLE", data });
  expect(error.message).toMatch(message);
});

test("a folder that is none is named before the command", () => {
  const options = { command: "browser-mcp", cwd: "no/such/folder" };
  expect(createStdioErrors("browser", options).notStarted("ENOENT").data).toMatchObject({
    field: "cwd",
  });
});

test("a failure that no option mends names no field, and quotes what was printed", () => {
  const output = { stderr: "port in use", strays: "hello" };
  const { data, message } = errors.endedEarly({ ...ended, exitCode: 1 }, output);
  expect(data).toEqual(at);
  expect(message).toContain(
    "Its stderr:\nport in use\nOn stdout, where only messages belong:\nhello",
  );
});
