import { expect, test } from "vitest";
import { createTroubles } from "./why-unknown.ts";

const callOf = (text: string, id: number) => ({
  headers: { "mcp-session-id": "s" },
  body: JSON.stringify({ id, params: { arguments: { text } } }),
});
const backWith = (requestId: number, eventId: string) => {
  const place = encodeURIComponent(JSON.stringify([1, "call", requestId, eventId]));
  return { headers: { "mcp-session-id": "s", "last-event-id": `seal.${place}` } };
};

test("an unknown outcome is explained by what was done to its own process or to the server, and by nothing else", async () => {
  const troubles = createTroubles();
  const from = performance.now();
  for (const [id, text] of ["killed", "other", "resumable"].entries())
    troubles.noteSent(text === "other" ? 1 : 0, callOf(text, id));
  await troubles.during({ what: "kill", process: 0 }, () => Promise.resolve());
  troubles.noteSent(1, backWith(0, ""));
  troubles.noteSent(1, backWith(2, "7"));
  const causeOf = (text: string) => troubles.causeOf(text, from, performance.now() + 1);
  expect(causeOf("killed")).toMatch("killed");
  expect(causeOf("other")).toBe("unexplained");
  expect(causeOf("resumable")).toBe("unexplained");
  await troubles.during({ what: "server" }, () => Promise.resolve());
  for (const each of ["other", "resumable"]) expect(causeOf(each)).toMatch("server was stopped");
  const later = performance.now() + 5;
  expect(troubles.causeOf("killed", later, later + 1)).toBe("unexplained");
});
