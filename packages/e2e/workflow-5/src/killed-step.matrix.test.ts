import { expect, test, vi } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { buildApp } from "./run-app.ts";
import {
  killHard,
  startJsonProgram,
  temporaryFolder,
} from "../../../workflow/test/json-program.ts";
import { toolOutputs } from "./tool-outputs.ts";

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

  const start = (all: string[]) =>
    startJsonProgram(new URL("run-program.ts", import.meta.url), all, {
      NOTEBOOK_URL: server.url,
      // For how long the engine leaves a step to a process that may still be at it.
      WORKFLOW_INLINE_OWNERSHIP_LEASE_SECONDS: "3",
    });
  const first = start(args);
  const { runId } = await first.next();
  await vi.waitFor(() => expect(server.waits).toContain("started"), { timeout: 60_000 });
  await killHard(first.child);

  const second = start([...args, String(runId)]);
  await second.next();
  const { result } = await second.next();
  const outputs = toolOutputs(result.messages);
  expect(JSON.stringify(outputs[1])).toContain("OUTCOME_UNKNOWN: ");
  expect(JSON.stringify(outputs[2])).toContain("milk");
  const calls = server.requests.flatMap(({ message }) => message?.params?.name ?? []);
  expect(calls).toEqual(["add_note", "wait", "list_notes"]);
  expect(server.log.filter((line) => line === "POST initialize")).toHaveLength(1);
});
