import { describe, expect, test } from "vitest";
import { readRefusal, readText } from "./read-answer.ts";

/** A body of these chunks, which then hangs. */
function hangingBody(...chunks: string[]) {
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
    },
    cancel: () => void (isCancelled = true),
  });
  return { response: new Response(body), isCancelled: () => isCancelled };
}

describe("the text of a body", () => {
  test("goes as far as the bound, and the rest is let go", async () => {
    const { response, isCancelled } = hangingBody("abc", "defgh");
    expect(await readText(response, 5)).toBe("abcde");
    expect(isCancelled()).toBe(true);
  });

  test("goes as far as it came in time", async () => {
    const { response, isCancelled } = hangingBody("abc");
    expect(await readText(response, 5, 10)).toBe("abc");
    expect(isCancelled()).toBe(true);
  });

  test("is empty without a body", async () => {
    expect(await readRefusal(new Response(null))).toBe("");
  });

  test("is whole when it is short", async () => {
    expect(await readRefusal(new Response("not now"))).toBe("not now");
  });
});

test("a body that breaks is an error", async () => {
  const body = new ReadableStream({
    pull(controller) {
      controller.error(new TypeError("terminated"));
    },
  });
  await expect(readRefusal(new Response(body))).rejects.toThrow("terminated");
});
