import { expect, test } from "vitest";
import { readTarget } from "./run-probe.ts";

const options = { timeout: 10, callTimeout: 60, watch: 10 };

test.each([
  [["https://mcp.example/mcp"], "url"],
  [["HTTP://localhost:3000/mcp"], "url"],
  [["npx", "-y", "server"], "command"],
  [["./server"], "command"],
  [["server.js"], "command"],
])("%j is a %s", (words, type) => {
  expect(readTarget(words, options) instanceof URL).toBe(type === "url");
});

test.each([
  [["localhost:3000/mcp"], {}, "http://localhost:3000/mcp"],
  [["mcp.example.com/mcp"], {}, "https://mcp.example.com/mcp"],
  [["mcp.example.com"], {}, "https://mcp.example.com"],
  [["ftp://mcp.example/mcp"], {}, "http or https"],
  [["https://user:word@mcp.example"], {}, "credentials"],
  [["https://"], {}, "no URL"],
  [["https://mcp.example", "https://other.example"], {}, "One URL"],
  [["https://mcp.example"], { env: ["KEY"] }, "--header-env"],
  [["server"], { headerEnv: { a: "B" } }, "--env"],
  [["server"], { args: {} }, "--call NAME"],
])("%j with %j is wrong usage, and the message says how it is right", (words, more, said) => {
  const read = () => readTarget(words, { ...options, ...more });
  expect(read).toThrow(said);
  expect(read).toThrow(expect.objectContaining({ exitCode: 2 }));
  expect(read).not.toThrow("user:word");
});
