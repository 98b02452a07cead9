import { expect, test } from "vitest";
import { clientNames } from "../clients/index.ts";
import { runStep } from "../steps/run-step.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import { useServer } from "../servers/use-server.ts";

const notebook = useServer(startNotebookServer);

test("hands one session from client to client, each in a process of its own (S12, S56)", async () => {
  const { server } = notebook;
  let snapshot: unknown;
  for (const [index, client] of clientNames.entries()) {
    const calls = [{ tool: "add_note", args: { text: client } }];
    const run = await runStep({ client, url: server.url, list: true, snapshot, calls });
    expect(run.error).toBeUndefined();
    expect(run.results.map((result) => result.text)).toEqual([`${index + 1} notes`]);
    snapshot = run.snapshot;
  }
  const { requests, sessions } = await server.stats();
  expect(sessions).toBe(1);
  // The handshake and the list of the first client, and a call of each.
  expect(requests).toMatchObject({ POST: 3 + clientNames.length });
});
