/** The pages of operators, as a browser without scripts has them. */

import { createMemoryStore, type Principal, type SessionStore } from "@durable-mcp/core";
import { describe, expect, onTestFinished, test } from "vitest";
import { startAskingServer } from "../../../sessions/test/asking-server.ts";
import { bothStores } from "../../../sessions/test/both-stores.ts";
import { startSlowServer } from "../../../sessions/test/slow-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";
import { createStudio, type StudioOptions } from "../../src/studio.ts";
import { collectEvents } from "../collect-events.ts";
import { parkCalls, startLockedShop } from "../sign-in-application.ts";
import { alice, bob, callTool } from "../step.ts";
import { openBrowser, operator } from "./studio-browser.ts";

const hostile = `"><script>alert(1)</script>'&amp;`;

const ask = (properties: object, message = "Order it?") => ({
  method: "elicitation/create",
  params: {
    message,
    requestedSchema: { type: "object", properties, required: Object.keys(properties) },
  },
});
const mail = { mail: { type: "string", title: "Address", format: "email" } };
const authorize = () => operator("carol", "look", "answer", "end");
const nameOf = (field: string) => JSON.stringify(["confirm", field]);
const answerOf = { action: "accept", content: { mail: "a@shop.test" } } as const;
const answer = (text: string) => ({ action: "accept", [nameOf("mail")]: text });

/** A shop that asks, a notebook with sessions, and the studio of their application. */
async function start({
  question = () => ask(mail),
  wrap = (store) => store,
  ...options
}: {
  question?: () => object;
  wrap?: (store: SessionStore) => SessionStore;
} & Partial<StudioOptions> = {}) {
  let held: ReturnType<typeof Promise.withResolvers<undefined>> | undefined;
  const hold = () => void (held = Promise.withResolvers());
  const release = () => held?.resolve(undefined);
  const asking = await startAskingServer({ question, answer: async () => await held?.promise });
  const shop = Object.assign(asking, { hold, release });
  const notebook = await startNotebookServer();
  const lab = await startSlowServer("task of 2026-07-28");
  let time = Date.now();
  const { onEvent, events } = collectEvents();
  const description = "A server.";
  const sessions = createDurableSessions({
    connections: {
      shop: defineMcpClientConnection({ url: shop.url, description, waiting: true }),
      notes: defineMcpClientConnection({ url: notebook.url, description, session: "stateful" }),
      lab: defineMcpClientConnection({ url: lab.url, description, waiting: { afterMs: 0 } }),
    },
    now: () => time,
    store: wrap(createMemoryStore()),
    onEvent,
  });
  onTestFinished(async () => await sessions.shutdown());
  const call = async (tool: string, input: object, chat = "chat-1", principal: Principal = alice) =>
    await sessions.run(chat, { principal }, async (run) =>
      callTool(await run.tools(), tool, input),
    );
  const order = async (tool = "order", chat?: string, principal?: Principal) =>
    await call(`shop__${tool}`, { item: "tea" }, chat, principal);
  const browserOf = (...may: Parameters<typeof operator>) =>
    openBrowser(createStudio({ sessions, authorize: () => operator(...may), ...options }));
  const carol = browserOf("carol", "look", "answer", "end");
  const pass = (ms: number) => void (time += ms);
  return { shop, lab, notebook, sessions, call, order, pass, browserOf, carol, events };
}

const chat = "?page=chat&chat=chat-1";

describe.each(bothStores)("in %s", (_, wrap) => {
  test("a question is answered over two rounds, and the next process goes on", async () => {
    const { carol, order, sessions, shop, events } = await start({ wrap });
    await order("order_twice");
    const waits = await carol.get("?page=waits");
    expect(waits.words).toMatch(/chat-1\s.*shop: order_twice\s+the user.s answer/s);
    const page = await carol.get(waits.links.find((link) => link.includes("chat-1"))!);
    expect(page.words).toContain("Order it?");
    const answered = { action: "accept", [nameOf("mail")]: "a@shop.test" };
    const second = await page.submit(answered);
    expect(second.words).toMatch(/asks more.*round 2/s);
    const over = await second.submit({ action: "decline" });
    expect(over.words).toMatch(/has reached the server.*shop: order_twice\s+answered by carol/s);
    expect(over.buttons).toEqual([]);
    expect(shop.legs.map(({ params }) => params.inputResponses)).toEqual([
      undefined,
      { confirm: { action: "accept", content: { mail: "a@shop.test" } } },
      { confirm: { action: "decline" } },
    ]);
    expect(events.flatMap((event) => ("by" in event && event.by ? [event.by] : []))).toEqual([
      "carol",
      "carol",
    ]);
    expect(await sessions.waiting("chat-1", { principal: alice })).toEqual([]);
  });

  test("a session ends after a question, with the calls of its connection", async () => {
    const { carol, call, order, notebook, events } = await start({ wrap });
    await call("notes__add_note", { text: "Tea." });
    await order();
    const page = await carol.get(chat);
    expect(page.words).toMatch(/notes\s+a session\s+notebook 1.0.0 2025-11-25/);
    const sure = await carol.get(page.links.find((link) => link.includes("notes"))!);
    expect(sure.title).toBe("End notes?");
    expect(notebook.liveSessions()).toBe(1);
    const ended = await sure.submit({});
    expect(ended.words).toContain("The session was ended.");
    expect(ended.words).not.toContain("notebook 1.0.0");
    expect(ended.words).toContain("shop: order");
    expect(notebook.liveSessions()).toBe(0);
    expect(events).toContainEqual({
      ...{ type: "ended-by-operator", connection: "notes", by: "carol", ended: true },
    });
  });
});

test("a wrong answer keeps the input, and says its problem once, at its field", async () => {
  const { carol, order, shop } = await start();
  await order();
  const wrong = { action: "accept", [nameOf("mail")]: `nobody ${hostile}` };
  const page = await (await carol.get(chat)).submit(wrong);
  expect(page.status).toBe(422);
  expect(page.values).toContain(`nobody ${hostile}`);
  expect(page.alerts).toHaveLength(1);
  expect(page.text).toMatch(/<input[^>]*aria-invalid="true"[^>]*autofocus/);
  expect(shop.legs).toHaveLength(1);
});

test("of two operators one wins, and the other is told", async () => {
  const { browserOf, carol, order, shop } = await start();
  await order();
  const [one, other] = [await carol.get(chat), await browserOf("dave", "look", "answer").get(chat)];
  const pages = await Promise.all([
    one.submit(answer("c@x.test")),
    other.submit(answer("d@x.test")),
  ]);
  expect(pages.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  expect(pages.find(({ status }) => status === 409)!.alerts[0]).toContain("somebody else");
  expect(shop.legs).toHaveLength(2);
});

test("who may only look sees the question, and no button, and sends nothing", async () => {
  const { browserOf, carol, order, shop } = await start();
  await order();
  const page = await browserOf("eve", "look").get(chat);
  expect(page.words).toMatch(/Order it\?\s+Asked for: Address/);
  expect(page.buttons).toEqual([]);
  expect((await browserOf("eve", "look", "answer").get(chat)).buttons).toEqual([
    "accept",
    "decline",
  ]);
  expect((await browserOf("eve", "look", "end").get(chat)).buttons).toEqual(["withdraw"]);
  const form = await carol.get(chat);
  const asEve = openBrowserAs(form.text);
  for (const [action, may] of [
    ["accept", "end"],
    ["withdraw", "answer"],
  ] as const) {
    const { get } = browserOf("carol", "look", may);
    const own = await get(chat);
    expect((await own.submit({ ...asEve, action })).status).toBe(403);
  }
  expect((await browserOf("eve").get(chat)).status).toBe(403);
  expect(shop.legs).toHaveLength(1);
});

/** The hidden fields of a page's form. */
const openBrowserAs = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/type="hidden" name="(.*?)" value="(.*?)"/g)].map(([, name, value]) => [
      name,
      value,
    ]),
  );

test("a call that is over says who answered it, or took it back", async () => {
  const { carol, order, sessions } = await start();
  for (const tool of ["order", "order_twice"]) await order(tool);
  const waiting = await sessions.waiting("chat-1", { principal: alice });
  const [first = "", second = ""] = waiting.flatMap((each) => ("id" in each ? [each.id] : []));
  await sessions.answer("chat-1", first, { confirm: answerOf }, { principal: alice });
  const page = await carol.get(chat);
  expect(page.words).toMatch(/shop: order\s+answered by the user; the chat's next step/);
  await sessions.withdraw("chat-1", second, { principal: alice });
  expect((await carol.get(chat)).words).toMatch(/shop: order_twice\s+withdrawn\s/);
});

test("a call is taken back, and the model is told", async () => {
  const { carol, order, sessions } = await start();
  await order();
  const page = await (await carol.get(chat)).submit({ action: "withdraw" });
  expect(page.words).toMatch(/was taken back.*withdrawn by carol/s);
  expect(await sessions.waiting("chat-1", { principal: alice })).toEqual([]);
});

test("a foreign host, another port, another site and a foreign token are refused", async () => {
  const { browserOf, carol, order, sessions, shop } = await start();
  await order();
  const page = await carol.get(chat);
  const accept = { action: "accept", [nameOf("mail")]: "a@shop.test" };
  for (const origin of ["http://localhost:3001", "https://evil.test", "null", ""])
    expect((await page.submit(accept, 0, { origin })).status).toBe(403);
  expect((await page.submit({ ...accept, token: "0".repeat(64) })).status).toBe(403);
  expect((await page.submit({ ...accept, token: "" })).status).toBe(403);
  const daves = openBrowserAs((await browserOf("dave", "look", "answer").get(chat)).text);
  expect((await page.submit({ ...accept, token: daves["token"]! })).status).toBe(403);
  expect((await carol.get(chat, { host: "evil.test" })).status).toBe(403);
  expect((await carol.get(chat, { host: "localhost.evil.test:80" })).status).toBe(403);
  expect(shop.legs).toHaveLength(1);

  const origin = "https://ops.example";
  const studio = createStudio({ sessions, authorize, origin });
  expect((await openBrowser(studio).get(chat)).status).toBe(403);
  const own = await openBrowser(studio, origin).get(chat);
  expect((await own.submit(accept, 0, { origin: "http://ops.example" })).status).toBe(403);
  expect((await own.submit(accept)).words).toContain("has reached the server");
  expect(() => createStudio({ sessions, authorize, origin: "https://ops.example/studio" })).toThrow(
    "origin must be an origin",
  );
});

test("pages say what a browser may not do with them", async () => {
  const { carol } = await start();
  const { headers, text } = await carol.get("");
  const nonce = /<style nonce="(.+?)">/.exec(text)![1];
  expect(headers.get("content-security-policy")).toBe(
    `default-src 'none'; style-src 'nonce-${nonce}'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  );
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("referrer-policy")).toBe("same-origin");
  expect((await carol.get("?page=no-such")).status).toBe(404);
  expect((await carol.get("?page=chats&follow=1")).text).toContain('http-equiv="refresh"');
});

test("hostile words of servers and of names are words", async () => {
  const properties = {
    [hostile]: { type: "string", title: hostile, description: hostile, default: hostile },
    some: { type: "array", title: hostile, items: { anyOf: [{ const: hostile, title: hostile }] } },
    one: { type: "string", enum: [hostile], enumNames: [hostile], default: hostile },
  };
  const { carol, order, shop } = await start({ question: () => ask(properties, hostile) });
  const eve = { ...bob, id: hostile } as Principal;
  await order("order", hostile, eve);
  const query = new URLSearchParams({ page: "chat", chat: hostile });
  const page = await carol.get(`?${query}`);
  for (const each of [
    page,
    ...(await Promise.all(["?page=chats", "?page=waits"].map((to) => carol.get(to)))),
  ]) {
    expect(each.text).not.toContain("<script");
    expect(each.words).toContain(hostile);
  }
  const values = {
    [nameOf(hostile)]: hostile,
    [nameOf("some")]: hostile,
    [nameOf("one")]: hostile,
  };
  for (const value of Object.keys(values)) expect(page.text).toContain(escaped(value));
  await page.submit({ action: "accept", ...values });
  expect(shop.legs.at(-1)!.params.inputResponses).toEqual({
    confirm: { action: "accept", content: { [hostile]: hostile, some: [hostile], one: hostile } },
  });
});

const escaped = (text: string) =>
  text.replaceAll(/[&<>"'\r\n]/g, (sign) => `&#${sign.charCodeAt(0)};`);

test("nobody answers a page that only the user can open, and no path of it is shown", async () => {
  const url = "https://pay.test/secret-path";
  const question = () => ({
    method: "elicitation/create",
    params: { mode: "url", message: "Pay.", url, elicitationId: "1" },
  });
  const { carol, order, shop } = await start({ question });
  await order();
  const page = await carol.get(chat);
  expect(page.words).toMatch(/the user, who has to open a page.*Pay\. At\s+pay\.test/s);
  expect(page.text).not.toContain("secret-path");
  expect(page.buttons).toEqual(["withdraw"]);
  // Nor by a form of one's own.
  for (const action of ["accept", "decline"])
    expect((await page.submit({ action })).status).toBe(403);
  expect(shop.legs).toHaveLength(1);
});

test("a sign-in is listed once for a user, with its chats, and without where it starts", async () => {
  const shop = await startLockedShop();
  await parkCalls(shop, [
    { tool: "work__order", input: { item: "tea" } },
    { tool: "work__order", input: { item: "milk" } },
  ]);
  const connections = { work: shop.connection(), play: shop.connection() };
  const sessions = shop.sessions({ connections });
  const jam = { tool: "play__order", input: { item: "jam" } };
  await shop.step([{ role: "user", content: "Play." }], [[jam]], sessions);
  const { get } = openBrowser(createStudio({ sessions, authorize }));
  const page = await get("?page=sign-ins");
  expect(page.words.match(/alice/g)).toHaveLength(1);
  expect(page.words).toMatch(/work \(http.*\):\s+chat\s+play \(http.*\):\s+chat\s/s);
  expect(page.links.filter((link) => link.includes("chat=chat"))).toHaveLength(2);
  const own = await get("?page=chat&chat=chat");
  expect(own.words).toContain("The user has to sign in to work");
  expect(own.words).toContain("the user, who has to sign in to work");
  const entry = (await shop.waiting()).find((each) => each.type === "sign-in")!;
  for (const { text } of [page, own]) expect(text).not.toContain(entry.startUrl);
});

test("nothing secret is shown", async () => {
  const { carol, call, order, notebook, shop } = await start();
  await call("notes__add_note", { text: "an-argument" });
  await order("order_twice");
  const accept = { action: "accept", [nameOf("mail")]: "an-answer@shop.test" };
  await (await carol.get(chat)).submit(accept);
  for (const to of ["", chat, "?page=waits", "?page=sign-ins"]) {
    const { text } = await carol.get(to);
    for (const secret of [
      ...notebook.sessionIds,
      ...shop.states,
      "an-argument",
      "an-answer",
      "tea",
    ])
      expect(text).not.toContain(secret);
  }
});

describe("why a chat stands still", () => {
  test("its server is away", async () => {
    const { carol, call, notebook } = await start();
    await call("notes__add_note", { text: "Tea." });
    const page = await carol.get(chat);
    const asking = page.links.find((link) => link.includes("ask=1"))!;
    expect((await carol.get(asking)).words).toMatch(/2025-11-25\s+answers/);
    notebook.intercept((_, response) => void response.destroy());
    expect((await carol.get(asking)).words).toContain("cannot be reached");
  });

  test("its server works on a task; nobody looks", async () => {
    const { carol, call, pass } = await start();
    await call("lab__research", { topic: "tea" });
    const page = await carol.get(chat);
    expect(page.words).toMatch(
      /its server, which works on it as a task \(working.*has to do anything/,
    );
    pass(600_000);
    expect((await carol.get(chat)).words).toMatch(/Nobody has looked for \d+ min/);
  });

  test("its server works on a call, and is away", async () => {
    const { carol, call, lab, pass, sessions } = await start();
    await call("lab__research", { topic: "tea" });
    let isAway = true;
    lab.intercept((_, response) => (isAway ? void response.destroy() : "next"));
    for (const ms of [60_000, 120_000]) {
      pass(ms);
      await sessions.check("chat-1", { principal: alice });
    }
    for (const to of [chat, "?page=waits"]) {
      const { words } = await carol.get(to);
      expect(words).toContain("every look has failed for 2 min");
      expect(words).not.toContain("Nobody has to do anything");
    }
    isAway = false;
    pass(60_000);
    await sessions.check("chat-1", { principal: alice });
    expect((await carol.get(chat)).words).toContain("Nobody has to do anything");
  });

  test("the process that sent the answer was killed", async () => {
    const { carol, order, pass, sessions, shop } = await start();
    await order();
    const [entry] = await sessions.waiting("chat-1", { principal: alice });
    shop.hold();
    const sent = sessions.answer("chat-1", entry!.id!, { confirm: answerOf }, { principal: alice });
    await expect.poll(() => shop.legs.length).toBe(2);
    expect((await carol.get(chat)).words).toContain("a process that works on it");
    pass(180_000);
    const page = await carol.get(chat);
    expect(page.words).toContain("silent for 3 min, so it was probably killed");
    expect(page.buttons).toEqual([]);
    shop.release();
    await sent;
  });
});

test("without the store's key chats are listed, and nothing in them is read or done", async () => {
  const raw = createMemoryStore();
  const { order } = await start({ wrap: () => bothStores[1]![1](raw) });
  await order();
  const sessions = createDurableSessions({ connections: {}, store: raw, onEvent: () => undefined });
  const { get } = openBrowser(createStudio({ sessions, authorize }));
  expect((await get("")).words).toMatch(/chat-1\s+\(fingerprint\)/);
  expect((await get("?page=waits")).words).toContain("1 call cannot be read");
  const page = await get(chat);
  expect(page.words).toContain("1 call cannot be read");
  expect(page.buttons).toEqual([]);
});
