import { afterEach, expect, test, vi } from "vitest";
import { lookAtResource } from "./watched-resource.ts";

afterEach(() => vi.useRealTimers());

const newsOf = async (contents: unknown) =>
  (await lookAtResource("before", async () => ({ contents }))).news!;

const silence = async () => await new Promise<never>(() => undefined);

test("a server that never answers is left", async () => {
  vi.useFakeTimers();
  const failing = lookAtResource("before", silence).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await failing).toMatchObject({ name: "TimeoutError" });
});

test.each<[string, unknown]>([
  ["a long media type", [{ uri: "a:b", mimeType: "x".repeat(5_000_000), text: "B" }]],
  ["a field that nobody knows", [{ uri: "a:b", other: "x".repeat(5_000_000), text: "B" }]],
  ["many contents", Array.from({ length: 60_000 }, () => ({ uri: "a:b", text: "" }))],
  ["5 MB of text", [{ uri: "a:b", text: "\u0000".repeat(5_000_000) }]],
  ["5 MB that are none", [{ uri: "a:b", blob: "A".repeat(5_000_000) }]],
  ["what is no contents", [{ uri: 1, mimeType: {}, text: [], blob: {} }, null, 7, "x"]],
])("news are short, of %s, too", async (_, contents) => {
  const news = await newsOf(contents);
  expect(news.type).toBe("changed");
  expect(JSON.stringify(news).length).toBeLessThan(150_000);
});

test("news say what they lack, and half a character is none", async () => {
  const long = { uri: "a:b", text: `x${"😀".repeat(15_000)}` };
  const { data, cut } = await newsOf([long]);
  const [{ text }] = data as [{ text: string }];
  expect(text.isWellFormed()).toBe(true);
  expect(text.length + cut!).toBe(30_001);
  const many = Array.from({ length: 60 }, () => ({ uri: "a:b", text: "x" }));
  expect(await newsOf(many)).toMatchObject({ cut: 10, more: 10 });
});
