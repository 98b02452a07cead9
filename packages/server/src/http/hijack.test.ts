import type { Principal } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import { createRawClient, takeEventId, toolCall } from "../../test/raw-client.ts";
import { createReplicas } from "../../test/replicas.ts";

/** Who sends a request, as a verified token would say. */
function principalOf(request: Request): Principal | undefined {
  const id = request.headers.get("authorization");
  return id === null ? undefined : { type: "user", issuer: "https://idp.example", id };
}

async function startWithUsers() {
  const replicas = createReplicas({ principal: principalOf });
  const { handler } = replicas.start();
  const as = (id?: string) =>
    createRawClient(handler, id === undefined ? {} : { authorization: id });
  const [ada, eve, nobody] = [as("ada"), as("eve"), as()];
  const id = await ada.initialize();
  await ada.call(id, "add", { text: "secret" });
  return { replicas, handler, ada, eve, nobody, id };
}

const list = (id: number) => toolCall(id, "list");

describe("a session belongs to the principal that made it", () => {
  test("another gets the answer to an unknown id, word for word, for every method", async () => {
    const { ada, eve, id } = await startWithUsers();
    const guessed = "x".repeat(id.length);
    for (const method of ["GET", "POST", "DELETE"]) {
      const ask = async (sessionId: string) => {
        const body = method === "POST" ? { jsonrpc: "2.0", ...list(1) } : undefined;
        const response = await eve.send(method, { "mcp-session-id": sessionId }, body);
        const headers = [...response.headers];
        return { status: response.status, headers, body: await response.text() };
      };
      const [others, unknown] = [await ask(id), await ask(guessed)];
      expect(others).toEqual(unknown);
      expect(others.status).toBe(404);
    }
    expect(await ada.call(id, "list")).toMatchObject({ text: "secret" });
  });

  test("nobody gets 401, with an id or without", async () => {
    const { nobody, id } = await startWithUsers();
    for (const sessionId of [id, undefined]) {
      expect((await nobody.post(sessionId, list(1))).status).toBe(401);
      expect((await nobody.get(sessionId)).status).toBe(401);
      expect((await nobody.end(sessionId)).status).toBe(401);
    }
  });

  test("an answer of the author's own is given in place of 401", async () => {
    const challenge = new Response(null, {
      status: 401,
      headers: { "www-authenticate": "Bearer" },
    });
    const { client } = createReplicas({ principal: () => challenge.clone() }).start();
    const response = await client.post(undefined, list(1));
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
  });

  test("who cannot be told apart is refused, not taken for somebody", async () => {
    const nameless = { type: "user", issuer: "https://idp.example", id: "" } as const;
    const { client } = createReplicas({ principal: () => nameless }).start();
    expect((await client.post(undefined, list(1))).status).toBe(500);
  });

  test("an event id of another's session is refused", async () => {
    const { ada, eve, id } = await startWithUsers();
    const theirs = await takeEventId(await ada.post(id, list(7)));
    const mine = await eve.initialize();
    expect((await eve.get(mine, theirs)).status).toBe(400);
    expect((await eve.get(id, theirs)).status).toBe(404);
    expect((await ada.get(id, theirs)).status).toBe(200);
  });

  test("an ended session's id is unknown, to its principal too", async () => {
    const { ada, id } = await startWithUsers();
    const event = await takeEventId(await ada.post(id, list(7)));
    await ada.end(id);
    expect((await ada.post(id, list(8))).status).toBe(404);
    expect((await ada.get(id, event)).status).toBe(404);
    expect((await ada.end(id)).status).toBe(404);
  });

  test("users of two issuers with one id are two", async () => {
    const replicas = createReplicas({
      principal: (request) => ({
        type: "user",
        issuer: request.headers.get("authorization")!,
        id: "42",
      }),
    });
    const { handler } = replicas.start();
    const [one, two] = ["https://a", "https://b"].map((authorization) =>
      createRawClient(handler, { authorization }),
    );
    const id = await one!.initialize();
    expect((await two!.post(id, list(1))).status).toBe(404);
  });
});

test("ids are long, random and nowhere in the store", async () => {
  const { replicas, ada, id } = await startWithUsers();
  const ids = [id, await ada.initialize(), await ada.initialize()];
  expect(new Set(ids).size).toBe(3);
  for (const each of ids) expect(each).toMatch(/^[\w-]{43}$/);
  await (await ada.get(id)).body?.cancel();
  const stored = JSON.stringify(await replicas.store.list({ limit: 1000 }));
  for (const each of ids) expect(stored.includes(each)).toBe(false);
  const told = JSON.stringify(replicas.events);
  for (const secret of [...ids, "ada", "secret"]) expect(told.includes(secret)).toBe(false);
});

test.each(["%00", "a b", "é", "x".repeat(1025), "../../session", '"]'])(
  "a text that no server hands out as an id is an unknown id: %j",
  async (id) => {
    const { client } = createReplicas().start();
    await client.initialize();
    const headers = new Headers();
    // A text that a header cannot carry cannot arrive either.
    const isHeader = (() => {
      try {
        headers.set("mcp-session-id", id);
        return true;
      } catch {
        return false;
      }
    })();
    const response = await client.post(isHeader ? id : "unknown", list(1));
    expect(response.status).toBe(404);
  },
);
