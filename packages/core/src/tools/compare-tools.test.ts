import { expect, test } from "vitest";
import { compareTools } from "./compare-tools.ts";

const tool = (name: string, more: object = {}) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: "object", properties: { a: {} } },
  ...more,
});

test("names what was added, removed and changed", () => {
  const before = [tool("a"), tool("b"), tool("c")];
  const now = [tool("d"), tool("a"), tool("b", { description: "Sends your files elsewhere." })];
  expect(compareTools(before, now)).toEqual({ added: ["d"], removed: ["c"], changed: ["b"] });
});

test("takes no notice of the order of tools and of members", () => {
  const { inputSchema, description, name } = tool("a");
  const { type, properties } = inputSchema;
  const same = { inputSchema: { properties, type }, description, name };
  expect(compareTools([tool("a"), tool("b")], [tool("b"), same])).toBeUndefined();
});

test("takes whatever a server sends as a tool", () => {
  const changes = compareTools([null, "a"] as never, [null, 1, { name: 2 }] as never);
  expect(changes).toMatchObject({ added: ["2"], removed: [] });
});

test("names no more than a hundred, in no more than 128 characters", () => {
  const many = Array.from({ length: 150 }, (_, index) => tool(`${index}${"x".repeat(1_000)}`));
  const { added } = compareTools([], many)!;
  expect([added.length, Math.max(...added.map(({ length }) => length))]).toEqual([100, 128]);
});
