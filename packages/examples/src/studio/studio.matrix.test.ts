/** The pages of operators in a Chromium. With `PICTURES=1` it writes those of the guide. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createStudio, type Operator } from "@durable-mcp/ai-sdk/studio";
import { toNodeHandler } from "@durable-mcp/server/node";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startAskingServer } from "../../../sessions/test/asking-server.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { findChromium } from "../programs/find-chromium.ts";
import { createTemporaryFolder } from "../programs/temporary-folder.ts";
import { checkPage, phone } from "../template/chat-page.ts";

const docs = fileURLToPath(new URL("../../../../docs/", import.meta.url));
const executablePath = findChromium();
if (executablePath === undefined) console.warn("skipped: studio: there is no Chromium");
const principal = { type: "user", issuer: "https://shop.example", id: "ada" } as const;
const hostile = `"><img src=x onerror=alert(1)>'&amp;\u202egnihtemos`;

const delivery = (words = "Deliver tea for 4.80 €?", own = "") => ({
  method: "elicitation/create",
  params: {
    message: words,
    requestedSchema: {
      type: "object",
      properties: {
        mail: { type: "string", title: `Address${own}`, description: `For the receipt.${own}` },
        time: {
          type: "string",
          title: `Time${own}`,
          enum: ["9", "12"],
          enumNames: ["Nine", "Noon"],
        },
        gift: { type: "boolean", title: `As a gift${own}` },
        extras: {
          type: "array",
          title: `Extras${own}`,
          minItems: 1,
          items: {
            anyOf: [
              { const: "milk", title: `Milk${own}` },
              { const: "honey", title: "Honey" },
            ],
          },
        },
      },
      required: ["mail", "extras"],
    },
  },
});

async function start(question: () => object = () => delivery()) {
  const [shop, notebook] = [await startAskingServer({ question }), await startNotebookServer()];
  const path = join(createTemporaryFolder(), "sessions.db");
  /** As a process of the application has them. */
  const open = () => {
    const description = "A server.";
    const sessions = createDurableSessions({
      connections: {
        shop: defineMcpClientConnection({ url: shop.url, description, waiting: true }),
        notes: defineMcpClientConnection({ url: notebook.url, description, session: "stateful" }),
      },
      store: createSqliteStore({ path }),
      onEvent: () => undefined,
    });
    onTestFinished(async () => await sessions.shutdown());
    return sessions;
  };
  const call = async (chat: string, tool: string, input: object) => {
    await open().run(chat, { principal }, async (run) => {
      const execute = (await run.tools())[tool]!.execute!;
      await execute(input, { toolCallId: chat, messages: [], context: {} } as never);
    });
  };
  const serve = async (may: Operator["may"] = ["look", "answer", "end"]) => {
    const studio = createStudio({ sessions: open(), authorize: () => ({ name: "carol", may }) });
    const handle = toNodeHandler(studio);
    const server = createServer(handle as never).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => server.close().closeAllConnections());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/studio`;
  };
  return { shop, notebook, open, call, serve };
}

describe.skipIf(executablePath === undefined)("in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: executablePath!, args: ["--no-sandbox"] });
  });
  afterAll(async () => await browser?.close());

  const openPage = async (url: string, javaScriptEnabled = false): Promise<Page> => {
    const context = await browser.newContext({
      ...{
        javaScriptEnabled,
        bypassCSP: javaScriptEnabled,
        viewport: { width: 1_000, height: 900 },
      },
    });
    onTestFinished(async () => await context.close());
    const page = await context.newPage();
    await page.goto(url);
    return page;
  };

  test("a person answers two rounds after a wrong answer, and ends a session", async () => {
    const { shop, notebook, open, call, serve } = await start();
    await call("chat-42", "notes__add_note", { text: "Tea." });
    await call("chat-42", "shop__order_twice", { item: "tea" });
    const url = await serve();
    const page = await openPage(url);
    await page.getByRole("link", { name: "What waits" }).click();
    await page.getByRole("link", { name: "chat-42" }).click();

    await page.getByLabel("Address").fill("ada@shop.example");
    await page.getByLabel("Time").selectOption({ label: "Noon" });
    await page.getByLabel("As a gift").check();
    // The browser cannot know that one of them is wanted.
    await page.getByRole("button", { name: "Accept" }).click();
    expect(await page.getByRole("alert").allTextContents()).toEqual([
      expect.stringContaining("extras"),
    ]);
    expect(await page.getByLabel("Address").inputValue()).toBe("ada@shop.example");
    expect(await page.getByLabel("Time").inputValue()).toBe("12");
    expect(await page.getByLabel("As a gift").isChecked()).toBe(true);
    await picture(page, "studio-question");
    expect(shop.legs).toHaveLength(1);

    await page.getByLabel("Milk").check();
    await page.getByRole("button", { name: "Accept" }).click();
    await page.getByText("which asks more").waitFor();
    await page.getByText("round 2").waitFor();
    await page.getByRole("button", { name: "Decline" }).click();
    await page.getByText("The chat's next step gets the result.").waitFor();
    const [, first, second] = shop.legs.map(({ params }) => params.inputResponses);
    expect(first).toEqual({
      confirm: {
        action: "accept",
        content: { mail: "ada@shop.example", time: "12", gift: true, extras: ["milk"] },
      },
    });
    expect(second).toEqual({ confirm: { action: "decline" } });
    expect(await open().waiting("chat-42", { principal })).toEqual([]);

    await page.getByRole("link", { name: "End …" }).first().click();
    expect(notebook.liveSessions()).toBe(1);
    await page.getByRole("button", { name: "End it" }).click();
    await page.getByText("The session was ended.").waitFor();
    expect(notebook.liveSessions()).toBe(0);
  });

  test("of two operators one wins; who may only look has no button", async () => {
    const { call, serve } = await start();
    await call("chat-42", "shop__order", { item: "tea" });
    const chat = "?page=chat&chat=chat-42";
    const url = await serve();
    const [one, other] = [await openPage(url + chat), await openPage(url + chat)];
    for (const page of [one, other]) await page.getByRole("button", { name: "Decline" }).waitFor();
    await one.getByRole("button", { name: "Decline" }).click();
    await one.getByText("has reached the server").waitFor();
    await other.getByRole("button", { name: "Decline" }).click();
    await other.getByText("somebody else was faster").waitFor();
    await call("chat-43", "shop__order", { item: "tea" });
    const eve = await openPage(`${await serve(["look"])}?page=chat&chat=chat-43`);
    await eve.getByText("Deliver tea for 4.80 €?").waitFor();
    expect(await eve.getByRole("button").count()).toBe(0);
  });

  test("a page at another port of this machine sends no form of it", async () => {
    const { call, serve, shop } = await start();
    await call("chat-42", "shop__order", { item: "tea" });
    const own = await openPage(`${await serve()}?page=chat&chat=chat-42`);
    const form = await own.locator("form").evaluate((each) => each.outerHTML);
    const action = new URL((await own.locator("form").getAttribute("action"))!, own.url());
    const evil = createServer((_, response) => {
      response.setHeader("content-type", "text/html");
      // Even if it knew the token.
      response.end(form.replace(/action="[^"]*"/, `action="${action}"`));
    }).listen(0, "127.0.0.1");
    await once(evil, "listening");
    onTestFinished(() => evil.close().closeAllConnections());
    const page = await openPage(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`);
    await page.getByRole("button", { name: "Decline" }).click();
    await page.getByText("The form is not of this studio.").waitFor();
    expect(shop.legs).toHaveLength(1);
    await page.goto(`http://evil.localhost:${action.port}/studio`).then(
      async () => await page.getByText("not reached under this name").waitFor(),
      () => undefined,
    );
  });

  test("empty, one and many look right on a phone, in the dark and for axe, whoever's words they are", async () => {
    const { call, open, serve } = await start(() => delivery(`Deliver ${hostile}?`, hostile));
    const page = await openPage(await serve(), true);
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("dialog", (dialog) => problems.push(dialog.message()));
    const check = async (names: string[], what: string) => {
      for (const size of [{ width: 1_000, height: 900 }, phone]) {
        await page.setViewportSize(size);
        for (const name of names) {
          await page.goto(new URL(name, page.url()).href);
          await checkPage(page, `${what}: ${name}, ${size.width} px`);
        }
      }
    };
    const lists = ["?page=chats", "?page=waits", "?page=sign-ins"];
    await check([...lists, "?page=chat&chat=none"], "empty");
    await call(hostile, "notes__add_note", { text: "Tea." });
    await call(hostile, "shop__order", { item: "tea" });
    const chat = `?${new URLSearchParams({ page: "chat", chat: hostile })}`;
    await check([...lists, chat, `${chat}&done=waiting`], "one");
    await page.goto(new URL(chat, page.url()).href);
    await page.getByRole("link", { name: "End …" }).first().click();
    await checkPage(page, "the question before an end");
    await page.setViewportSize(phone);
    await page.emulateMedia({ colorScheme: "dark" });
    const sessions = open();
    for (let at = 0; at < 1_000; at += 20)
      await Promise.all(
        Array.from(
          { length: 20 },
          async (_, n) =>
            await sessions.run(`chat-${at + n}`, { principal }, async (run) => {
              const execute = (await run.tools())["shop__order"]!.execute!;
              await execute({ item: "tea" }, {
                toolCallId: "1",
                messages: [],
                context: {},
              } as never);
            }),
        ),
      );
    for (const name of ["?page=chats", "?page=waits"]) {
      await page.goto(new URL(name, page.url()).href);
      const needed = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(needed).toBeLessThanOrEqual(phone.width);
      expect(await page.locator("tbody tr").count()).toBeGreaterThanOrEqual(900);
    }
    expect(problems).toEqual([]);
  }, 600_000);
});

async function picture(page: Page, name: string): Promise<void> {
  if (process.env["PICTURES"])
    await page.screenshot({ path: join(docs, `${name}.png`), fullPage: true });
}
