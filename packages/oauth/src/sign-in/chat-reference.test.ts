import { expect, test } from "vitest";
import { ada, ben, createApplication, errorOf } from "../../test/application.ts";
import { startHandMadeServer } from "../../test/hand-made-server.ts";
import { changeGrant, unencrypted } from "../../test/signed-in.ts";
import { sealChat } from "../records/chat-reference.ts";

/** An application whose user has met the locked door in two chats, first in `chat-1`. */
async function locked(options: Parameters<typeof createApplication>[0] | object = {}) {
  const server = await startHandMadeServer();
  const signedIn: (string | undefined)[] = [];
  const app = createApplication({
    url: server.url,
    onSignedIn: ({ sessionId }) => void signedIn.push(sessionId),
    ...options,
  });
  const refused = { status: 401 } as const;
  const first = await errorOf(app.getToken({ refused, sessionId: "chat-1" }));
  const last = await errorOf(app.getToken({ refused, sessionId: "chat-2" }));
  const click = async (link: string, principal: typeof ada | typeof ben = ada, more = {}) => {
    const started = await app.oauth.start(new Request(link), { principal, ...more });
    const callback = server.consent(started.headers.get("location")!);
    await app.callback(callback, principal);
    return signedIn.at(-1);
  };
  const linkOf = async (sessionId?: string) =>
    (await app.oauth.authorizationFor({ ...app.use, sessionId }))!.startUrl;
  return { server, app, click, linkOf, first: first.data.startUrl!, last: last.data.startUrl! };
}

test.each([["sealed"], [unencrypted]])(
  "goes on in the chat whose link was clicked (%s)",
  async (keys) => {
    const { click, linkOf } = await locked(keys === unencrypted ? { keys } : {});
    expect(await click(await linkOf("chat-1"))).toBe("chat-1");
  },
);

test("goes on in a chat that has only shown the link", async () => {
  const { click, linkOf } = await locked();
  expect(await click(await linkOf("chat-of-the-page"))).toBe("chat-of-the-page");
});

test("goes on in the chat whose error had the link, and without one in the last that asked", async () => {
  const one = await locked();
  expect(await one.click(one.first)).toBe("chat-1");
  const other = await locked();
  expect(await other.click(await other.linkOf())).toBe("chat-2");
});

test("goes on in the link's chat also where the application says what to sign in to", async () => {
  const { app, click, first } = await locked();
  expect(await click(first, ada, app.use)).toBe("chat-1");
});

test("a link is the same each time, and says nothing of the chat", async () => {
  const { app, linkOf, first } = await locked();
  expect(await linkOf("chat-1")).toBe(first);
  expect(
    await app.next().oauth.authorizationFor({ ...app.use, sessionId: "chat-1" }),
  ).toMatchObject({
    startUrl: first,
  });
  expect(first).not.toContain("chat-1");
  expect(
    atob(new URL(first).searchParams.get("chat")!.replaceAll("-", "+").replaceAll("_", "/")),
  ).not.toContain("chat");
});

test("ignores a reference that is forged, too long, or somebody else's", async () => {
  const { server, app, click, linkOf } = await locked();
  const own = await linkOf("chat-1");
  const withChat = (chat: string) => {
    const url = new URL(own);
    url.searchParams.set("chat", chat);
    return url.href;
  };
  const real = new URL(own).searchParams.get("chat")!;
  for (const forged of ["", "chat-1", "A".repeat(100_000), `${real.slice(0, -2)}AA`, "%00"]) {
    const started = await app.oauth.start(new Request(withChat(forged)), { principal: ada });
    expect(started.status).toBe(303);
  }
  expect(await click(withChat("A".repeat(80)))).toBe("chat-2");

  await errorOf(
    app.getToken({ principal: ben, refused: { status: 401 }, sessionId: "chat-of-ben" }),
  );
  expect(await click(own, ben)).toBe("chat-of-ben");
  expect(server.registrations).toHaveLength(1);
});

test("ignores any reference where the user's record has no key", async () => {
  const { app, click, last } = await locked({ keys: unencrypted });
  await changeGrant(app.store, { linkKey: undefined });
  const forged = new URL(last);
  forged.searchParams.set("chat", (await sealChat("chat-of-a-thief", ""))!);
  expect(await click(forged.href)).toBe("chat-2");
});
