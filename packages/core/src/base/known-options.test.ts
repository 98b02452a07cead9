import { expect, test } from "vitest";
import { checkKnown, type OptionKind } from "./known-options.ts";

const filter: OptionKind = {
  either: [
    { options: { allow: "names" }, required: ["allow"] },
    { options: { block: "names" }, required: ["block"] },
  ],
  is: "{ allow } or { block }",
};
const texts: OptionKind = {
  record: "text",
  name: { test: (name) => name !== "", fix: "is empty" },
};

test.each<[what: string, kind: OptionKind, value: unknown, problem: string]>([
  ["a required function that is missing", "function", undefined, "it must be a function."],
  ["a required time that is missing", "ms", undefined, "it must be a whole number of milliseconds"],
  ["an instance where names are free", texts, new Map(), "it must be a plain object."],
  ["a name that is none", texts, { "": "a" }, "it. is empty."],
  ["what has neither form", filter, 5, "it must be { allow } or { block }."],
  ["what has both forms", filter, { allow: [], block: [] }, "it must be { allow } or { block }."],
  ["an item of one of two forms", filter, { block: ["a", ""] }, "it.block[1] must be"],
  ["what another place takes", { refused: "goes elsewhere" }, 1, "it goes elsewhere."],
])("refuses %s", (_, kind, value, problem) => {
  const check = () => checkKnown({ it: value }, { it: kind }, { required: ["it"] });
  expect(check).toThrow(expect.objectContaining({ code: "CONNECTION_INVALID" }));
  expect(check).toThrow(problem);
});

test("names what was meant, and of what is known only what is taken", () => {
  const kinds = { address: "text", store: { refused: "goes elsewhere" } } as const;
  const check = (options: object) => () => checkKnown(options as any, kinds);
  expect(check({ adress: "a" })).toThrow("adress is not a known option. Did you mean address?");
  expect(check({ other: "a" })).toThrow("Known: address.");
});

test("an open group takes other fields, and checks its own", () => {
  const kind: OptionKind = { options: { a: "flag" }, isOpen: true };
  expect(() => checkKnown({ it: { a: true, b: 1 } }, { it: kind })).not.toThrow();
  expect(() => checkKnown({ it: { a: 1 } }, { it: kind })).toThrow("it.a must be true or false.");
});
