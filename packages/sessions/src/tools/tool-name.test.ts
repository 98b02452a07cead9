import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toolName } from "./tool-name.ts";

const connectionName = fc.stringMatching(/^[a-z][a-z0-9]{0,20}([_-][a-z0-9]{1,20}){0,3}$/);
const serversName = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 100 }),
  fc.stringMatching(/^[A-Za-z0-9_-]{1,80}$/),
);

describe("toolName", () => {
  test.each([
    ["notes", "add_note", "notes__add_note"],
    ["my-notes_2", "Add-Note", "my-notes_2__Add-Note"],
    ["notes", "_private", "notes___private"],
    ["a", "b".repeat(61), `a__${"b".repeat(61)}`],
  ])("keeps what model providers accept: %s, %s", async (connection, tool, name) => {
    expect(await toolName(connection, tool)).toBe(name);
  });

  // Approvals are stored under these names: another hash would lose them with the next release.
  test.each([
    ["a", "b".repeat(62), `a__${"b".repeat(52)}_17f7673e`],
    ["notes", "files/read", "notes__files_read_d7a57331"],
    ["notes", "", "notes__"],
    ["notes", "ünïcödé", "notes___n_c_d__955dc519"],
  ])("shortens the same way for ever: %s, %s", async (connection, tool, name) => {
    expect(await toolName(connection, tool)).toBe(name);
  });

  test("tells apart what is replaced by the same character", async () => {
    const names = ["a.b", "a/b", "a:b", "a_b"].map((tool) => toolName("notes", tool));
    expect(new Set(await Promise.all(names)).size).toBe(4);
  });

  test("tells apart what is cut to the same length", async () => {
    const long = "x".repeat(80);
    const names = [toolName("notes", `${long}1`), toolName("notes", `${long}2`)];
    expect(new Set(await Promise.all(names)).size).toBe(2);
  });

  test("is valid for model providers, whatever the server calls its tools", async () => {
    await fc.assert(
      fc.asyncProperty(connectionName, serversName, async (connection, tool) => {
        expect(await toolName(connection, tool)).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      }),
    );
  });

  test("differs when connection or tool differ", async () => {
    const pair = fc.tuple(connectionName, serversName);
    await fc.assert(
      fc.asyncProperty(pair, pair, async (a, b) => {
        fc.pre(JSON.stringify(a) !== JSON.stringify(b));
        expect(await toolName(...a)).not.toBe(await toolName(...b));
      }),
    );
  });
});
