import { describe, expect, it } from "vitest";
import { problemOf, refusing } from "./refusal.ts";
import { failureOf } from "./retry.ts";

const api = "/api/chat/c-1234";
const json = (body: object) => JSON.stringify(body);

/** What a person reads who has answered a question, and whose message has failed. */
async function wordsFor(status: number, text: string) {
  const fetch = refusing(async () => new Response(text, { status }));
  const thrown = await fetch(api).then(
    () => expect.unreachable(),
    (error: Error) => error,
  );
  return [problemOf(thrown), failureOf(thrown)?.error.message];
}
const again = { message: "The server does not answer. Press again." };

describe("a refusal", () => {
  it("has what the route says, and the field", async () => {
    const [problem, message] = await wordsFor(422, json({ message: "Too late.", field: "q.time" }));
    expect(problem).toEqual({ message: "Too late.", field: "q.time" });
    expect(message).toBe("Too late.");
  });

  it.each([
    [502, "<html><h1>Bad Gateway</h1></html>"],
    [503, "upstream 10.0.0.7 of /api/chat/c-1234"],
    [500, json({ error: { id: "c-1234" } })],
    [429, ""],
  ])("%i has nothing that a proxy says", async (status, text) => {
    const words = [again, "The server does not answer."];
    expect(await wordsFor(status, text)).toEqual(words);
  });

  it("that does not pass says no more than that", async () => {
    const message = "The server refused it.";
    expect(await wordsFor(403, "c-1234 is forbidden")).toEqual([{ message }, message]);
  });

  it("is a lost connection without an answer", () => {
    const lost = new TypeError("Failed to fetch /api/chat/c-1234");
    expect(problemOf(lost)).toEqual(again);
    expect(failureOf(lost)).toMatchObject({
      error: { message: "The server does not answer.", cause: lost },
      isPassing: true,
    });
  });
});
