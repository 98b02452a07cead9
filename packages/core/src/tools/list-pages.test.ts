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
  ])(
    "has the tools that came with %s, after %i pages, and is told",
    async (_, count, nextCursor) => {
      const { list, pages, events } = await startListingStep(nextCursor, size);
      for (const method of ["prompts/list", "tools/list"]) {
        const before = pages();
        const { names, error } = await list(method);
        expect([names.length, error]).toEqual([count, undefined]);
        expect(pages() - before).toBe(count);
      }
      expect(events.filter(({ type }) => type === "list-cut")).toEqual([
        { type: "list-cut", method: "prompts/list" },
        { type: "list-cut", method: "tools/list" },
      ]);
    },
  );
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

test.each(["", "a"])("the listing after a recovery is bounded as well: %j", async (cursor) => {
  const { server, snapshot, pages } = await startListingStep(() => cursor);
  server.forgetSessions();
  const toolList = { tools: [toolDefinition("old")], listedAt: 0 };
  const { client, slot, events } = startStep(server, {
    snapshot: { ...snapshot, toolList },
    now: () => 1,
  });
  await client.request("ping");
  expect(pages()).toBe(2);
  const kept = slot.snapshot?.kind === "session" ? slot.snapshot.toolList : undefined;
  expect(kept?.tools).toEqual(["first", cursor].filter(Boolean).map(toolDefinition));
  expect(events.filter(({ type }) => type === "list-cut")).toHaveLength(cursor === "" ? 0 : 1);
});

async function pagesOf(...cursors: (string | null | undefined)[]) {
  let [count, cuts] = [0, 0];
  const next = async () => ({ nextCursor: cursors[count++] });
  const pages = await listPages(next, () => void (cuts += 1));
  return [pages.length, cuts];
}

test("pages are followed until a cursor comes again, and 100 of them at most", async () => {
  expect(await pagesOf("a", "", "b", "", "c")).toEqual([4, 0]);
  expect(await pagesOf(null, "a")).toEqual([1, 0]);
  expect(await pagesOf("a", "b", "a", "c")).toEqual([3, 1]);
  const numbers = Array.from({ length: 200 }, (_, n) => String(n));
  expect(await pagesOf(...numbers)).toEqual([100, 1]);
  expect(await pagesOf(...numbers.slice(0, 99), undefined)).toEqual([100, 0]);
});
