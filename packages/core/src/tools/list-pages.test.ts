import { describe, expect, test } from "vitest";
import { sendResult, startMcpServer, toolDefinition } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";
import { listPages } from "./list-pages.ts";

/** A step on a server whose lists have these next cursors, one after the other; and a count of pages. */
async function startListingStep(
  nextCursor: (page: number, cursor: string | undefined) => string | undefined,
  padding = 0,
) {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  let pages = 0;
  server.use(({ message }, response, next) => {
    if (message?.method?.endsWith("/list") !== true) return next();
    pages += 1;
    const following = nextCursor(pages, message.params?.cursor);
    const tools = [toolDefinition(message.params?.cursor || "first")];
    const result = { tools, padding: "x".repeat(padding), nextCursor: following };
    sendResult(response, message.id, result);
  });
  const step = startStep(server, { snapshot, now: () => 1 });
  /** Lists as clients do: as long as there is a cursor. */
  const list = async (method = "tools/list", id = 0) => {
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const params = cursor === undefined ? undefined : { cursor };
      const { result, error } = await step.client.request(method, params, { id });
      if (error !== undefined) return { names, error };
      names.push(...result.tools.map(({ name }: { name: string }) => name));
      cursor = result.nextCursor;
    } while (cursor != null);
    return { names };
  };
  return { ...step, server, snapshot, list, pages: () => pages };
}

describe.each([0, 20_000])("a client that lists pages of %i bytes", (size) => {
  test("ends with an empty cursor that comes again, and gets each tool once from the kept list", async () => {
    for (const method of ["resources/list", "prompts/list", "tools/list"]) {
      const { list, pages, slot } = await startListingStep(() => "", size);
      expect(await list(method)).toEqual({ names: ["first", "first"] });
      expect(pages()).toBe(2);
      if (method !== "tools/list") continue;
      expect(slot.snapshot).toMatchObject({ toolList: { tools: [toolDefinition("first")] } });
      expect(await list()).toEqual({ names: ["first"] });
    }
  });

  test.each([
    ["the same cursor each time", 2, () => "a"],
    ["a circle of cursors", 100, (page: number) => (page % 2 === 0 ? "even" : "odd")],
    ["another cursor each time", 100, (page: number) => `page-${page}`],
  ])("gets an error with %s, after %i pages", async (_, count, nextCursor) => {
    const { list, pages } = await startListingStep(nextCursor, size);
    const { error } = await list();
    expect(error).toMatchObject({ data: { code: "CONNECTION_UNAVAILABLE", method: "tools/list" } });
    expect(error?.message).toContain("the list does not end");
    expect(pages()).toBe(count);
  });
});

const after = (cursor: string | undefined) => Number(cursor ?? 0) + 1;

test("lists of 99 pages are whole, also several at once", async () => {
  const { list } = await startListingStep((_, cursor) =>
    after(cursor) < 99 ? String(after(cursor)) : undefined,
  );
  const lists = await Promise.all([
    list("tools/list", 1),
    list("tools/list", 2),
    list("prompts/list", 3),
  ]);
  expect(lists.map(({ names, error }) => [names.length, error])).toEqual(
    lists.map(() => [99, undefined]),
  );
  expect((await list()).names).toHaveLength(99);
});

test.each([
  ["", ["first"]],
  ["a", undefined],
])("the listing after a recovery is bounded as well: %j", async (cursor, names) => {
  const { server, snapshot, pages } = await startListingStep(() => cursor);
  server.forgetSessions();
  const toolList = { tools: [toolDefinition("old")], listedAt: 0 };
  const { client, slot } = startStep(server, { snapshot: { ...snapshot, toolList }, now: () => 1 });
  await client.request("ping");
  expect(pages()).toBe(2);
  const kept = slot.snapshot?.kind === "session" ? slot.snapshot.toolList : undefined;
  expect(kept?.tools).toEqual(names?.map(toolDefinition));
});

async function pagesOf(...cursors: (string | null | undefined)[]) {
  let count = 0;
  return await listPages("here", async () => ({ nextCursor: cursors[count++] }));
}

test("pages are followed until an empty cursor comes again, and 100 of them at most", async () => {
  expect(await pagesOf("a", "", "b", "", "c")).toHaveLength(4);
  expect(await pagesOf(null, "a")).toHaveLength(1);
  const endless = {
    code: "CONNECTION_UNAVAILABLE",
    message: expect.stringMatching(/^here: the list does not end/),
  };
  await expect(pagesOf("a", "b", "a")).rejects.toMatchObject(endless);
  const numbers = Array.from({ length: 200 }, (_, n) => String(n));
  await expect(pagesOf(...numbers)).rejects.toMatchObject(endless);
  expect(await pagesOf(...numbers.slice(0, 99), undefined)).toHaveLength(100);
});
