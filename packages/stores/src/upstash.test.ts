import { expect, test } from "vitest";
import { createUpstashStore } from "./upstash.ts";

const url = "https://x.upstash.io";
const token = "hush";

/** A store whose requests get this answer. */
const open = (answer: () => Response | Promise<Response>) =>
  createUpstashStore({ url, token, fetch: async () => await answer() });

const put = (answer: () => Response | Promise<Response>) =>
  open(answer)
    .put("k", 1, null, { owner: "o" })
    .then(
      () => expect.unreachable(),
      (error: unknown) => error as Error,
    );

test("sends a command as JSON, to no other address, and for no cache", async () => {
  const sent: RequestInit[] = [];
  const fetch: typeof globalThis.fetch = async (to, init) => {
    expect(to).toBe(url);
    sent.push(init!);
    return Response.json({ result: [["1", "r"]] });
  };
  const store = createUpstashStore({ url, token, prefix: "p", fetch });
  expect(await store.get("é")).toEqual({ value: 1, revision: "r" });
  expect(sent).toMatchObject([
    {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      redirect: "manual",
      cache: "no-store",
    },
  ]);
  const [name, sha1, keyCount, ...rest] = JSON.parse(sent[0]!.body as string);
  expect([name, keyCount, rest[0], rest.at(-1)]).toEqual(["EVALSHA", 5, "{p}:keys", "é"]);
  expect(sha1).toMatch(/^[\da-f]{40}$/);
});

test.each([
  [401, { error: "WRONGPASS invalid or missing auth token" }, "WRONGPASS"],
  [400, { error: "ERR max request size exceeded. Limit: 1" }, "MAX_REQUEST_SIZE_EXCEEDED"],
  [400, { error: "ERR max daily request limit exceeded" }, "MAX_DAILY_REQUEST_LIMIT_EXCEEDED"],
  [400, { error: "ERR hush" }, "ERR"],
  [200, { error: 5 }, "HTTP_200"],
  [200, null, "HTTP_200"],
  [502, { result: "OK" }, "HTTP_502"],
  [302, {}, "HTTP_302"],
])("has a code for %s with %j", async (status, body, code) => {
  const error = await put(() => Response.json(body, { status }));
  expect(error).toMatchObject({ code: "STORE_FAILED", cause: { code } });
  expect(error.message).toContain(`(${code})`);
  expect(error.message + (error.cause as Error).message).not.toContain("hush");
});

test("fails when there is no answer, or none of Upstash's", async () => {
  expect(await put(() => new Response("<html>", { status: 503 }))).toMatchObject({
    message: expect.stringContaining("(HTTP_503)"),
  });
  const cause = new TypeError("no network");
  expect(await put(() => Promise.reject(cause))).toMatchObject({ code: "STORE_FAILED", cause });
});
