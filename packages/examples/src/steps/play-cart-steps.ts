import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { openStore } from "../programs/open-store.ts";
import { endProgram } from "../programs/start-program.ts";
import { cartServer, startServer } from "../programs/start-server.ts";
import type { StepOutput } from "./step-output.ts";
import { createStepRunner, type StepResult } from "./step-runner.ts";

interface CartSteps {
  /** What takes a step: it gets the URL of the cart, the store, the chat and the file of the conversation. */
  readonly program: URL;
  readonly count: number;
  /** The step before which the server is killed and started again. */
  readonly killedBefore: number;
  readonly place: string;
  readonly folder: string;
  /** What the program gets beside that. */
  readonly more?: readonly string[];
  readonly title: string;
  readonly output: StepOutput;
}

/** Plays the steps of an agent, a process each, on the cart of one MCP session, and checks what they say. */
export async function playCartSteps({
  program,
  count,
  killedBefore,
  place,
  folder,
  more = [],
  title,
  output,
}: CartSteps): Promise<void> {
  const { store, close } = await openStore(place);
  const chatId = `demo ${randomUUID()}`;
  const prefix = JSON.stringify(["default", chatId]).slice(0, -1);
  const records = async () => (await store.list({ prefix, limit: 10 })).records;

  output.title(title);
  let server = await startServer(cartServer);
  const { url, port } = server;
  const args = [url, place, chatId, join(folder, "messages.json"), ...more];
  const runStep = createStepRunner(program, args, records);
  const results: StepResult[] = [];
  for (let step = 1; step <= count; step += 1) {
    if (step === killedBefore) {
      await endProgram(server.child, "SIGKILL");
      server = await startServer(cartServer, port);
      output.between("The server process is killed and started again. Its memory is lost.");
    }
    const result = await runStep(step);
    output.step(result);
    results.push(result);
  }
  await endProgram(server.child, "SIGTERM");
  // Its server is gone, so there is nothing to end.
  for (const { key } of await records()) await store.delete(key);
  await close();

  for (const { step, session, resumed, recovered, calls, requests } of results) {
    assert.equal(session, step < killedBefore ? 1 : 2, `step ${step}: MCP session`);
    assert.equal(resumed, step !== 1 && step !== killedBefore, `step ${step}: resumed`);
    assert.equal(recovered, step === killedBefore, `step ${step}: recovered`);
    if (resumed) assert.equal(requests, calls.length, `step ${step}: HTTP requests`);
  }
}
