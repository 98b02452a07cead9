import type { SessionStore } from "@durable-mcp/core";
import { testSessionStore } from "@durable-mcp/testing/store";
import { createClient, type RedisClientType } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import openUpstash from "../test/open-upstash.ts";
import { redisUnavailable } from "../test/redis-server.ts";
import { startUpstash, upstashToken } from "../test/upstash-server.ts";
import { createRedisStore } from "./redis.ts";
import { createUpstashStore } from "./upstash.ts";

if (redisUnavailable !== undefined) console.warn(`skipped: upstash: ${redisUnavailable}`);

describe.skipIf(redisUnavailable !== undefined)("on a real Redis, by Upstash's REST API", () => {
  let server: Awaited<ReturnType<typeof startUpstash>>;
  let client: RedisClientType;
  beforeAll(async () => {
    server = await startUpstash();
    client = createClient({ url: `redis://127.0.0.1:${server.redisPort}` });
    client.on("error", () => undefined);
    await client.connect();
  });
  afterAll(async () => {
    client?.destroy();
    await server?.remove();
  });

  describe("the suite for stores", () => {
    testSessionStore({
      test,
      open: () => openUpstash(server.port),
      hasConnection: false,
      async plant(key, text) {
        await client.set(`{mcp-sessions}:value:${key}`, text, { KEEPTTL: true });
      },
      processes: {
        module: new URL("../test/open-upstash.ts", import.meta.url),
        data: () => server.port,
        execArgv: ["--conditions=@durable-mcp/source"],
      },
      server: { kill: () => server.kill(), start: () => server.start() },
    });
  });

  const open = (token = upstashToken) =>
    createUpstashStore({ url: `http://127.0.0.1:${server.port}`, token });

  test("is one request an operation, and two for a script that Redis has forgotten", async () => {
    const store = open();
    const putAndGet = async (key: string) => {
      await store.put(key, 1, null, { owner: "o" });
      await store.get(key);
    };
    await putAndGet("before");
    server.take();
    await putAndGet("requests");
    expect(server.take()).toEqual(["EVALSHA", "EVALSHA"]);
    await client.scriptFlush();
    expect(await store.get("requests")).toMatchObject({ value: 1 });
    expect(server.take()).toEqual(["EVALSHA", "EVAL"]);
  });

  test("has the same records as the store of Redis", async () => {
    const [one, other] = [open(), createRedisStore({ client })];
    await one.put("shared", 1, null, { owner: "o" });
    expect(await other.get("shared")).toEqual(await one.get("shared"));
  });

  test("says why, and repeats neither token, key nor value", async () => {
    expect(await refusedPut(open("hush"))).toMatch(/\(WRONGPASS\).*Nothing was written\.$/);
    await client.configSet("maxmemory", "1");
    expect(await refusedPut(open())).toMatch(/\(OOM\).*Nothing was written\.$/);
    await client.configSet("maxmemory", "0");
  });
});

/** The message of a put that fails. */
async function refusedPut(store: SessionStore): Promise<string> {
  const put = store.put("secret key", "secret value", null, { owner: "secret owner" });
  const error = await put.then(
    () => expect.unreachable(),
    (reason: unknown) => reason as Error,
  );
  for (let each = error; each !== undefined; each = each.cause as Error) {
    expect(`${each.message} ${JSON.stringify(each)}`).not.toMatch(/secret|hush/);
  }
  return error.message;
}
