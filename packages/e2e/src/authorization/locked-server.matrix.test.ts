import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectClient2Auto } from "../clients/client-2.ts";
import { connectSdk1 } from "../clients/sdk-1.ts";
import { type AuthorizationServer, startAuthorizationServer } from "./authorization-server.ts";
import { type LockedServer, startLockedServer } from "./locked-server.ts";
import { createScriptedUser } from "./scripted-user.ts";
import { startSdkDemoAuthorizationServer } from "./sdk-demo-authorization-server.ts";
import { discover, register, signInByHand } from "./sign-in-by-hand.ts";

let opaque: AuthorizationServer;
let signed: AuthorizationServer;
beforeAll(async () => {
  [opaque, signed] = await Promise.all([
    startAuthorizationServer(),
    startAuthorizationServer({ accessTokens: "jwt", accessTokenSeconds: 3 }),
  ]);
});
afterAll(() => Promise.all([opaque.stop(), signed.stop()]));

async function tokenFor(issuer: string, resource: string, scope: string, login = "ada") {
  const server = await discover(issuer);
  const client = await register(server);
  const user = createScriptedUser({ login });
  return (await signInByHand({ server, client, user, resource, scope })).access_token;
}

function fetchWith(token: string): typeof fetch {
  return (url, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${token}`);
    return fetch(url, { ...init, headers });
  };
}

/** One request of each era that a server refuses before it looks at the rest. */
async function post(url: string, method: string, params: object, token?: string) {
  const response = await (token === undefined ? fetch : fetchWith(token))(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  await response.body?.cancel();
  return { status: response.status, challenge: response.headers.get("www-authenticate") ?? "" };
}

describe.for([{ sdk: 1 }, { sdk: 2 }] as const)("on SDK $sdk", ({ sdk }) => {
  let locked: LockedServer;
  let metadataUrl: string;
  beforeAll(async () => {
    locked = await startLockedServer({ sdk, issuer: opaque.issuer });
    metadataUrl = new URL("/.well-known/oauth-protected-resource/mcp", locked.url).href;
  });
  afterAll(() => locked.stop());

  test("names its authorization server and scopes", async () => {
    expect(await (await fetch(metadataUrl)).json()).toMatchObject({
      resource: locked.url,
      authorization_servers: [opaque.issuer],
      scopes_supported: ["notes:read", "notes:write", "notes:delete"],
    });
  });

  test("answers 401 without a good token, and says where to get one", async () => {
    const elsewhere = await tokenFor(opaque.issuer, "http://127.0.0.1:10239/mcp", "notes:read");
    for (const token of [undefined, "made up", elsewhere]) {
      const { status, challenge } = await post(locked.url, "tools/list", {}, token);
      expect(status).toBe(401);
      expect(challenge).toContain('scope="notes:read"');
      expect(challenge).toContain(`resource_metadata="${metadataUrl}"`);
    }
    expect(locked.refusals()).toEqual(
      Array.from({ length: 3 }, () => ({ refused: 401, method: "tools/list" })),
    );
  });

  test("carries calls out for a user, in a session of theirs", async () => {
    const ada = await tokenFor(opaque.issuer, locked.url, "notes:read");
    const client = await connectSdk1({ url: locked.url, fetch: fetchWith(ada) });
    await client.callTool("add_note", { text: `tea ${sdk}` });
    expect(await client.callTool("list_notes", {})).toMatchObject({ text: `tea ${sdk}` });
    expect(await client.callTool("whose", {})).toMatchObject({ text: "ada" });
    expect(locked.runs(`tea ${sdk}`)).toBe(1);
    await client.close();

    await opaque.expireAccessTokens();
    expect(await post(locked.url, "tools/list", {}, ada)).toMatchObject({ status: 401 });
  });

  test("answers 403 to a tool that needs a further scope, and does not carry it out", async () => {
    const reading = await tokenFor(opaque.issuer, locked.url, "notes:read");
    const deleting = await tokenFor(opaque.issuer, locked.url, "notes:read notes:delete");
    const first = await connectSdk1({ url: locked.url, fetch: fetchWith(reading) });
    await expect(first.callTool("delete_notes", { reason: "spring" })).rejects.toThrow(
      /insufficient|scope/i,
    );
    await first.close();
    expect(locked.runs("spring")).toBe(0);
    expect(locked.refusals().at(-1)).toEqual({
      ...{ refused: 403, method: "tools/call", tool: "delete_notes" },
    });

    const second = await connectSdk1({ url: locked.url, fetch: fetchWith(deleting) });
    expect(await second.callTool("delete_notes", { reason: "spring" })).toMatchObject({
      text: "0 notes deleted",
    });
    await second.close();
    expect(locked.runs("spring")).toBe(1);
  });
});

test("takes signed tokens until their time is over", async () => {
  const server = await startLockedServer({
    sdk: 2,
    issuer: signed.issuer,
    verify: "signature",
  });
  try {
    const token = await tokenFor(signed.issuer, server.url, "notes:read", "grace");
    const client = await connectSdk1({ url: server.url, fetch: fetchWith(token) });
    expect(await client.callTool("whose", {})).toMatchObject({ text: "grace" });
    await client.close();
    await expect
      .poll(async () => (await post(server.url, "tools/list", {}, token)).status)
      .toBe(401);
  } finally {
    await server.stop();
  }
});

test("takes tokens of the SDK's demo server", async () => {
  const demo = await startSdkDemoAuthorizationServer();
  const server = await startLockedServer({ sdk: 1, issuer: demo.issuer });
  try {
    const token = await tokenFor(demo.issuer, server.url, "notes:read");
    const client = await connectSdk1({ url: server.url, fetch: fetchWith(token) });
    expect(await client.callTool("whose", {})).toMatchObject({ text: "demo_user" });
    await client.close();
  } finally {
    await Promise.all([server.stop(), demo.stop()]);
  }
});

test("moves to another authorization server", async () => {
  const locked = await startLockedServer({ sdk: 2, issuer: opaque.issuer });
  try {
    const token = await tokenFor(opaque.issuer, locked.url, "notes:read");
    await locked.moveTo(signed.issuer);
    expect((await post(locked.url, "tools/list", {}, token)).status).toBe(401);
    const metadataUrl = new URL("/.well-known/oauth-protected-resource/mcp", locked.url);
    expect(await (await fetch(metadataUrl)).json()).toMatchObject({
      authorization_servers: [signed.issuer],
    });
  } finally {
    await locked.stop();
  }
});

test("keeps the notes of a user without a session, in 2026-07-28", async () => {
  const locked = await startLockedServer({ sdk: 2, issuer: opaque.issuer });
  try {
    const notes = async (login: string, text: string) => {
      const token = await tokenFor(opaque.issuer, locked.url, "notes:read", login);
      const client = await connectClient2Auto({ url: locked.url, fetch: fetchWith(token) });
      await client.callTool("add_note", { text });
      const { text: all } = await client.callTool("list_notes", {});
      await expect(client.callTool("delete_notes", { reason: "spring" })).rejects.toThrow(
        /insufficient|scope/i,
      );
      await client.close();
      return all;
    };
    expect(await notes("ada", "tea")).toBe("tea");
    expect(await notes("grace", "milk")).toBe("milk");
    expect(await notes("ada", "cake")).toBe("tea\ncake");
    expect(locked.refusals().map(({ refused }) => refused)).toEqual([403, 403, 403]);
  } finally {
    await locked.stop();
  }
});
