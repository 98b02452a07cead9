import { describe, expect, test } from "vitest";
import { checkConnections } from "../../../sessions/src/sessions/check-connections.ts";
import { createConnectionProvider, defineMcpClientConnection } from "../../src/index.ts";

const valid = defineMcpClientConnection({
  url: "https://mcp.test/mcp",
  description: "A notebook.",
});
const invalid = (field: string) =>
  expect.objectContaining({ code: "CONNECTION_INVALID", data: { field } });

describe("names of connections", () => {
  test.each(["a", "notes", "my_notes", "my-notes-2", "a1_b2", "myNotes", "my_Notes", "aB3"])(
    "accepts %s",
    (name) => {
      expect(checkConnections({ [name]: valid })).toBeUndefined();
    },
  );

  test.each([
    "",
    "Notes",
    "my__notes",
    "my--notes",
    "_notes",
    "notes_",
    "2notes",
    "my notes",
    "nötes",
    "my.notes",
    "__proto__",
    "notes\n",
  ])("refuses %j", (name) => {
    expect(() => checkConnections({ [name]: valid })).toThrow(invalid(`connections.${name}`));
  });
});

test.each([
  ["myNotes", "mynotes"],
  ["my_notes", "my_Notes"],
])("%s and %s are refused beside each other", (one, other) => {
  expect(() => checkConnections({ [one]: valid, [other]: valid })).toThrow(
    expect.objectContaining({
      code: "CONNECTION_INVALID",
      data: { field: `connections.${other}` },
      message: expect.stringContaining(`connection ${one} has the same name`),
    }),
  );
});

describe("connections", () => {
  test.each([
    ["nothing", undefined],
    ["null", null],
    ["a map", new Map([["notes", valid]])],
    ["a promise", Promise.resolve({ notes: valid })],
    ["a list", [valid]],
  ])("refuses %s", (_, connections) => {
    expect(() => checkConnections(connections)).toThrow(invalid("connections"));
  });

  test.each([undefined, null, {}, { url: "https://mcp.test/mcp", description: "x" }])(
    "refuses one that was not defined: %j",
    (notes) => {
      expect(() => checkConnections({ notes })).toThrow(invalid("connections.notes"));
    },
  );

  test("are checked when the provider is created", () => {
    const connections = { Notes: valid };
    expect(() => createConnectionProvider({ connections })).toThrow(invalid("connections.Notes"));
  });
});
