import { createMemoryStore } from "@durable-mcp/core";
import { expect, onTestFinished, test } from "vitest";
import { bothStores } from "../../../sessions/test/both-stores.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";
import { createStudio } from "../../src/studio.ts";
import { alice } from "../step.ts";
import { openBrowser, operator } from "./studio-browser.ts";

const use = { principal: alice };
const resource = "note://board";

test.each(bothStores)("a watch says what it is, and is taken back, in %s", async (_, wrap) => {
  let text = "A";
  const { url } = await startNotebookServer({
    setUp: (mcp) =>
      void mcp.registerResource("board", resource, {}, () => ({
        contents: [{ uri: resource, text }],
      })),
  });
  let time = Date.now();
  const now = () => time;
  const sessions = createDurableSessions({
    connections: {
      notes: defineMcpClientConnection({
        ...{ url, description: "Notes.", session: "stateful", waiting: { watch: true } },
      }),
    },
    ...{ store: wrap(createMemoryStore({ now })), now, onEvent: () => undefined },
  });
  onTestFinished(async () => await sessions.shutdown());
  await sessions.run("chat-1", use, (run) => run.watch("notes", { resource }));
  text = "B";
  time += 60_000;
  // In a step, too, which looks with its own client.
  expect(await sessions.run("chat-1", use, (run) => run.waiting.check())).toMatchObject([
    { type: "watch", news: 1 },
  ]);
  const studio = createStudio({ sessions, authorize: () => operator("carol", "look", "end") });
  const page = await openBrowser(studio).get("?page=chat&chat=chat-1");
  expect(page.words).toMatch(
    /notes: note:\/\/board.*waits for news of its server: it watches. 1 of them waits/s,
  );
  expect(page.words).not.toContain("cannot be read");
  const over = await page.submit({ action: "withdraw" });
  expect(over.words).toMatch(/taken back.*notes: note:\/\/board\s+withdrawn/s);
  expect(await sessions.waiting("chat-1", use)).toEqual([]);
  expect(await sessions.run("chat-1", use, (run) => run.waiting.news())).toEqual([]);
});
