import type { SessionStore } from "@durable-mcp/core";
import type { OAuth, OAuthEvent } from "@durable-mcp/oauth";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ForkedProgram, forkProgram } from "../durable/fork-program.ts";
import { openStoreAt, startStorePlace } from "../durable/store-place.ts";
import {
  type AnyClientName,
  anyClientNames,
  type Application,
  type ClientReport,
  type ClientTask,
  type ConnectWay,
  connectWays,
} from "./any-client-protocol.ts";
import { createOAuthOf, userOf } from "./any-client-application.ts";
import { type AuthorizationServer, startAuthorizationServer } from "./authorization-server.ts";
import { type LockedServer, startLockedServer } from "./locked-server.ts";
import { createScriptedUser } from "./scripted-user.ts";

const redirectUrl = "http://127.0.0.1:3999/oauth/callback";

let authorization: AuthorizationServer;
let place: Awaited<ReturnType<typeof startStorePlace>>;
let application: Application;
let store: SessionStore;
let oauth: OAuth;
let locked: Record<1 | 2, LockedServer>;
const events: OAuthEvent[] = [];
const programs: ForkedProgram<ClientTask, ClientReport>[] = [];

beforeAll(async () => {
  [authorization, place] = await Promise.all([
    startAuthorizationServer(),
    startStorePlace("sqlite"),
  ]);
  const { issuer } = authorization;
  const [first, second] = await Promise.all([
    startLockedServer({ sdk: 1, issuer }),
    startLockedServer({ sdk: 2, issuer }),
  ]);
  locked = { 1: first, 2: second };
  const key = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  const { kind, at } = place;
  application = { place: { kind, at }, key, redirectUrl };
  ({ store } = await openStoreAt(place));
  oauth = createOAuthOf(application, store, (event) => events.push(event));
});
beforeEach(async () => {
  events.length = 0;
  await authorization.clearJournal();
});
afterAll(async () => {
  await Promise.all(programs.map((each) => each.kill()));
  await Promise.all([locked[1].stop(), locked[2].stop(), authorization.stop()]);
  await place.remove();
});

/** A process with a client. */
function startClient(use: { client: AnyClientName; way: ConnectWay; url: string; user: string }) {
  const program = forkProgram<ClientTask, ClientReport>(
    new URL("./any-client-program.ts", import.meta.url),
  );
  programs.push(program);
  const ask = async (task: ClientTask) => {
    program.send(task);
    return await program.receive();
  };
  return {
    connect: () => ask({ type: "connect", application, ...use }),
    call: (tool: string, args: Record<string, unknown> = {}) => ask({ type: "call", tool, args }),
    kill: () => program.kill(),
  };
}

const done = (text: unknown): ClientReport => ({ type: "done", text: text as string });

/** The two routes of the application, and the user's browser between them. */
async function signIn(startUrl: string | undefined, id: string, user = createScriptedUser()) {
  const principal = userOf(id);
  const started = await oauth.start(new Request(startUrl!), { principal });
  const callback = await user.signIn(started.headers.get("location")!, redirectUrl);
  expect((await oauth.callback(new Request(callback), { principal })).status).toBe(200);
}

const servers: Record<ConnectWay, 1 | 2> = {
  fetch: 1,
  "fetch and authProvider": 2,
  "session fetch": 1,
};
const uses = anyClientNames.flatMap((client) => connectWays.map((way) => ({ client, way })));

describe.for(uses)("$client with $way", ({ client, way }) => {
  const sdk = servers[way];

  test(`signs in, refreshes once and steps up over processes, on SDK ${sdk}`, async () => {
    const { url } = locked[sdk];
    const user = `${client} ${way}`;
    const [first, second] = Array.from({ length: 2 }, () =>
      startClient({ client, way, url, user }),
    );
    // Nothing of a sign-in happens before the click: the client neither asks the server nor registers.
    const met = await first!.connect();
    expect(met).toMatchObject({ type: "failed", code: "AUTHORIZATION_REQUIRED" });
    if (met.type !== "failed") return;
    expect(met.scopes).toEqual(["notes:read"]);
    expect((await authorization.journal()).map((entry) => entry.kind)).not.toContain(
      "registration",
    );
    expect(await authorization.requests("authorize")).toEqual([]);

    const browser = createScriptedUser();
    await signIn(met.startUrl, user, browser);
    const lists = await Promise.all([first!.connect(), second!.connect()]);
    expect(lists).toEqual([done(expect.stringMatching(/add_note/)), lists[0]]);

    const [tea, reason] = [`tea: ${user}`, `spring: ${user}`];
    expect(await second!.call("add_note", { text: tea })).toMatchObject({ type: "done" });
    await authorization.expireAccessTokens();
    // Both are refused in the middle of their sessions, one asks for another token, and both go on.
    const after = await Promise.all([second!.call("list_notes"), first!.call("whose")]);
    expect(after).toEqual([done(expect.stringContaining(tea)), done("ada")]);
    expect(await authorization.requests("token", "refresh_token")).toHaveLength(1);
    expect(await authorization.reuse()).toMatchObject({ refreshToken: 1, grantsRevoked: 0 });

    const refused = await second!.call("delete_notes", { reason });
    expect(refused).toMatchObject({ type: "failed", code: "AUTHORIZATION_REQUIRED" });
    if (refused.type !== "failed") return;
    expect(refused.scopes).toEqual(expect.arrayContaining(["notes:read", "notes:delete"]));
    expect(locked[sdk].runs(reason)).toBe(0);
    await signIn(refused.startUrl, user, browser);
    // The session is the one from before: its note is there to delete.
    expect(await second!.call("delete_notes", { reason })).toEqual(
      done(expect.stringMatching(/^[1-9]\d* notes? deleted$/)),
    );
    expect(locked[sdk].runs(reason)).toBe(1);
    expect(await authorization.requests("authorize")).not.toEqual([]);
    expect(events.filter(({ type }) => type === "signed-in")).toHaveLength(2);
    await Promise.all([first!.kill(), second!.kill()]);
  });
});
