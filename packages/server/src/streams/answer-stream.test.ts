import { expect, test } from "vitest";
import { withDefaults } from "../base/settings.ts";
import { createAnswerStream } from "./answer-stream.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const makeId = (place: number) => `at-${place}`;

/** A stream whose client writes down what it gets. */
function open() {
  const { timeouts } = withDefaults({ timeouts: { keepAliveMs: 5, retryMs: 7 } });
  const stream = createAnswerStream({ timeouts, isPrimed: true, eventIds: () => makeId });
  const texts: string[] = [];
  const add = (text = "(end)") => void texts.push(text);
  const leave = stream.body({ write: add, end: add });
  return { stream, texts, leave };
}

const prime = "id: at-0\nretry: 7\ndata: \n\n";
const event = (place: number) => `event: message\nid: at-${place}\ndata: {}\n\n`;

test("an answer that is there soon goes out in one write, and nothing follows it", async () => {
  const { stream, texts } = open();
  stream.write(1, "{}", true);
  stream.write(2, "{}", false);
  stream.end();
  await pause(20);
  expect(texts).toEqual([prime + event(1)]);
});

test("a stream that is open says now and then that it lives, until its end", async () => {
  const { stream, texts } = open();
  stream.write(1, "{}", false);
  await pause(30);
  stream.write(2, "{}", true);
  const count = texts.length;
  await pause(20);
  expect(texts).toHaveLength(count);
  expect(texts[0]).toBe(prime + event(1));
  expect(new Set(texts.slice(1, -1))).toEqual(new Set([": keep-alive\n\n"]));
  expect(texts.at(-1)).toBe(event(2));
});

test.each([0, 10])("nothing is written for a client that has left after %s ms", async (ms) => {
  const { stream, texts, leave } = open();
  await pause(ms);
  leave();
  const count = texts.length;
  await pause(20);
  stream.write(1, "{}", true);
  expect(texts).toHaveLength(count);
});
