import { expect, test, vi } from "vitest";
import { startNotebookServer } from "../../../ai-sdk/test/notebook-server.ts";
import { buildApp } from "./run-app.ts";
import { killHard, outputsIn, startProgram, temporaryFolder } from "./start-program.ts";

test("a call that was interrupted by kill -9 is not made again, and the session goes on", async () => {
  const app = await buildApp("killed-step");
  const server = await startNotebookServer();
  const dataDir = temporaryFolder();
  const turns = [
    [{ tool: "notes__add_note", input: { text: "milk" } }],
    [{ tool: "notes__wait" }],
    [{ tool: "notes__list_notes" }],
  ];
  const principal = { type: "user", issuer: "https://idp.test", id: "alice" };
  const options = JSON.stringify({ principal, prompt: JSON.stringify(turns) });
  const args = [JSON.stringify(app), dataDir, options];

  const env = { NOTEBOOK_URL: server.url };
  const first = startProgram(args, env);
  const { runId } = await first.next();
  await vi.waitFor(() => expect(server.waits).toContain("started"), { timeout: 60_000 });
  await killHard(first.child);

  const second = startProgram([...args, String(runId)], env);
  await second.next();
  const { result } = await second.next();
  const outputs = outputsIn(result);
  expect(JSON.stringify(outputs[1])).toContain("OUTCOME_UNKNOWN: ");
  expect(JSON.stringify(outputs[2])).toContain("milk");
  const calls = server.requests.flatMap(({ message }) => message?.params?.name ?? []);
  expect(calls).toEqual(["add_note", "wait", "list_notes"]);
  expect(server.log.filter((line) => line === "POST initialize")).toHaveLength(1);
});
