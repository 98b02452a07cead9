import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { expect, test } from "vitest";
import { alice } from "../../../ai-sdk/test/step.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { runCli, runCliJson } from "../../test/run-cli.ts";
import { openFile } from "../../test/store-of-an-application.ts";

const resource = "note://board";

test("a watch is listed, takes no answer, and is taken back without its server", async () => {
  const { store, address } = openFile();
  const { url, requests } = await startNotebookServer({
    setUp: (mcp) =>
      void mcp.registerResource("board", resource, {}, () => ({
        contents: [{ uri: resource, text: "A" }],
      })),
  });
  const notes = defineMcpClientConnection({
    ...{ url, description: "Notes.", session: "stateful", waiting: { watch: true } },
  });
  const sessions = createDurableSessions({ connections: { notes }, store });
  await sessions.run("chat", { principal: alice }, (run) => run.watch("notes", { resource }));
  requests.length = 0;
  const inStore = ["--store", address];
  const { json } = await runCliJson("waiting", "list", ...inStore);
  expect(json.calls).toMatchObject([{ type: "watch", tool: resource, state: "waiting" }]);
  const { row } = json.calls[0];
  const answered = await runCli("waiting", "answer", row, "--json", ...inStore);
  expect(answered.stderr).toContain("takes no answer (waiting): nothing: it watches for news");
  const withdrawn = await runCli("waiting", "withdraw", row, "--yes", ...inStore);
  expect(withdrawn).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("1 call") });
  expect(await sessions.waiting("chat", { principal: alice })).toEqual([]);
  expect(requests).toEqual([]);
});
