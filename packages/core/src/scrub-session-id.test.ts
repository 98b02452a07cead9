import { expect, test } from "vitest";
import { scrubSessionId } from "./scrub-session-id.ts";

test("takes the id out of a text, wherever it stands", () => {
  expect(scrubSessionId("no s-1 here, s-1", "s-1")).toBe("no [session id] here, [session id]");
});

test("takes an id out that was escaped inside a JSON string", () => {
  const id = 'a"b\\c';
  const text = `${JSON.stringify({ message: `unknown session ${id}` })} ${id}`;
  expect(scrubSessionId(text, id)).toBe('{"message":"unknown session [session id]"} [session id]');
});

test("takes an id with pattern characters literally", () => {
  expect(scrubSessionId("axb a.b $&", "a.b")).toBe("axb [session id] $&");
});

test("leaves a text alone when there is no id", () => {
  expect(scrubSessionId("text", undefined)).toBe("text");
});
