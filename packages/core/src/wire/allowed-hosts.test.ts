import { describe, expect, test } from "vitest";
import { createHostCheck } from "./allowed-hosts.ts";

const requestOf = (headers: { host?: string; origin?: string }) => ({
  header: (name: string) => headers[name as "host" | "origin"] ?? null,
});

describe("a Host", () => {
  const check = createHostCheck({});

  test.each(["localhost", "LocalHost:3000", "localhost:65535", "127.0.0.1:1", "[::1]", "[::1]:80"])(
    "passes: %j",
    (host) => expect(check(requestOf({ host }))).toBeUndefined(),
  );

  const refused = [
    ["evil.com@localhost", "user:secret@localhost", "@localhost", "localhost@evil.com"],
    ["localhost/x", "localhost/", "localhost#", "localhost?", "localhost?@evil.com"],
    ["localhost\\x", "localhost\\@evil.com", "http://localhost", "//localhost"],
    ["", " ", " localhost", "localhost ", "local\thost", "localhost, evil.com"],
    ["localhost, localhost", "localhost;evil.com", "localhost.", "localhost..", ".localhost"],
    ["[::1", "::1", "[::1]x", "[::1].evil.com", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"],
    ["[::1%25eth0]", "[]", "[::1]:", "localhost:", "localhost:65536", "localhost:99999"],
    ["localhost:-1", "localhost:080", "localhost:8o", "localhost:1:2", "localhost:1 evil.com"],
    ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.01", "127.0.0.1."],
    ["ⓛocalhost", "localhost\u3002", "１27.0.0.1", "local\u00adhost", "lo%63alhost", "%6c"],
    ["localhost.evil.com", "evil.com", "evil.com:3000", "xlocalhost", "any", "*"],
  ].flat();
  test.each(refused)("is refused: %j", (host) =>
    expect(check(requestOf({ host }))).toMatchObject({ reason: "host" }),
  );

  test("that is missing is refused", () =>
    expect(check(requestOf({}))).toMatchObject({ reason: "host" }));

  test.each(["evil.com@localhost", "localhost/x", ""])(
    "that is none is refused even if any is allowed: %j",
    (host) =>
      expect(createHostCheck({ allowedHosts: "any" })(requestOf({ host }))).toMatchObject({
        reason: "host",
      }),
  );
});

const checkOrigin = createHostCheck({
  allowedHosts: ["localhost"],
  allowedOrigins: ["app.example", "c.example:8443", "https://b.example", "vscode-webview://id"],
});
const refusal = (origin: string) => checkOrigin(requestOf({ host: "localhost", origin }));

describe("an Origin", () => {
  test.each([
    "https://app.example",
    "http://APP.example:3000",
    "https://c.example:8443",
    "https://b.example",
    "vscode-webview://ID",
  ])("passes: %j", (origin) => expect(refusal(origin)).toBeUndefined());

  test.each(
    [
      ["null", "", "undefined", "app.example", "https://", "https:app.example", "//app.example"],
      ["https://app.example, https://evil.com", "https://evil.com, https://app.example"],
      ["https://app.example https://evil.com", "https://app.example/", "https://app.example/x"],
      ["https://app.example?", "https://app.example#", "https://evil.com@app.example"],
      ["https://app.example@evil.com", "https://app.example\\.evil.com", "https://app.example."],
      [
        "https://app.example:99999",
        "https://app.example:",
        "https://c.example",
        "http://b.example",
      ],
      ["https://b.example:1", "https://https://app.example", "https://ⓐpp.example"],
    ].flat(),
  )("is refused: %j", (origin) => expect(refusal(origin)).toMatchObject({ reason: "origin" }));

  test("that is missing passes", () =>
    expect(checkOrigin(requestOf({ host: "localhost" }))).toBeUndefined());

  test("null passes for those who name it", () => {
    const named = createHostCheck({ allowedOrigins: ["null"] });
    expect(named(requestOf({ host: "localhost", origin: "null" }))).toBeUndefined();
  });
});

test.each([
  [{ allowedHosts: ["mcp.example"] }, "mcp.example", "https://mcp.example", undefined],
  [{ allowedHosts: ["mcp.example"] }, "mcp.example", "https://app.example", "origin"],
  [
    { allowedHosts: ["mcp.example:8443"] },
    "mcp.example:8443",
    "https://mcp.example:8443",
    undefined,
  ],
  [{ allowedHosts: ["mcp.example:8443"] }, "mcp.example:8443", "https://mcp.example:1", "origin"],
  [{ allowedHosts: ["MCP.Example"] }, "mcp.example", undefined, undefined],
  [{ allowedHosts: "any" }, "anything", "https://anything", undefined],
] as const)("with %o, Host %s, Origin %s: %s", (options, host, origin, reason) => {
  const given = origin === undefined ? { host } : { host, origin };
  expect(createHostCheck(options)(requestOf(given))?.reason).toBe(reason);
});
