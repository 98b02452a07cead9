import { expect, test } from "vitest";
import { maxUnreadBytes, type ReplySink, toResponse } from "./reply.ts";
import { servedFromWeb } from "./served-request.ts";

const headers = { "content-type": "text/event-stream" };

function streamed() {
  const seen = { leaves: 0, sink: undefined as ReplySink | undefined };
  const response = toResponse({
    status: 200,
    headers,
    body: (sink) => {
      seen.sink = sink;
      return () => {
        seen.leaves += 1;
      };
    },
  });
  return { seen, sink: seen.sink!, response };
}

test("a text, nothing, and a Response of the author's become responses", async () => {
  const text = toResponse({ status: 404, headers: { "retry-after": "1" }, body: "gone: é" });
  expect([text.status, text.headers.get("retry-after"), await text.text()]).toEqual([
    404,
    "1",
    "gone: é",
  ]);
  expect(toResponse({ status: 204, headers: {} }).body).toBeNull();
  const own = new Response("own");
  expect(toResponse(own)).toBe(own);
});

test("a stream carries what is written until its end, and nothing later", async () => {
  const { seen, sink, response } = streamed();
  sink.write("a");
  sink.end("b");
  sink.write("c");
  sink.end("d");
  expect(await response.text()).toBe("ab");
  expect(seen.leaves).toBe(0);
});

test("a client that leaves is told once, and later writes are dropped", async () => {
  const { seen, sink, response } = streamed();
  sink.write("a");
  await response.body?.cancel();
  sink.write("b");
  sink.end();
  expect(seen.leaves).toBe(1);
});

test("a client that does not read is broken off at the bound", async () => {
  const { seen, sink, response } = streamed();
  const half = "x".repeat(maxUnreadBytes / 2);
  sink.write(half);
  sink.write(half);
  await Promise.resolve();
  expect(seen.leaves).toBe(0);
  sink.write("x");
  await expect.poll(() => seen.leaves).toBe(1);
  sink.write("x");
  sink.end();
  await expect(response.text()).rejects.toThrow("does not read");
  expect(seen.leaves).toBe(1);
});

test("a stream that writes too much before it has begun is told too", async () => {
  let leaves = 0;
  toResponse({
    status: 200,
    headers,
    body: (sink) => {
      sink.write("x".repeat(maxUnreadBytes + 1));
      return () => {
        leaves += 1;
      };
    },
  });
  await expect.poll(() => leaves).toBe(1);
});

const posted = (body: string) => new Request("http://localhost/mcp", { method: "POST", body });

test("the author's functions can read a web request's body after it was read", async () => {
  const served = servedFromWeb(posted("{}"));
  expect(await served.readBody(10)).toBe("{}");
  expect(await served.readBody(10)).toBe("{}");
  expect(await served.request.text()).toBe("{}");
  expect(await served.request.text()).toBe("{}");
});

test("a web request whose body somebody else has read says how to mend it", async () => {
  const served = servedFromWeb(posted("{}"));
  await served.request.text();
  await expect(served.readBody(10)).rejects.toThrow("request.clone()");
});

test("a web request whose client leaves is no body", async () => {
  const body = new ReadableStream({ start: (controller) => controller.error(new Error("gone")) });
  const init = { method: "POST", body, duplex: "half" };
  const served = servedFromWeb(new Request("http://localhost/mcp", init));
  await expect(served.readBody(10)).rejects.toMatchObject({ name: "BodyNotRead" });
});
