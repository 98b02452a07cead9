import { type FaultyProxy, createFaultyProxy } from "@durable-mcp/testing";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ForkedProgram, forkProgram } from "../durable/fork-program.ts";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import { type FromEnvironment, invocation, type ToEnvironment } from "./lambda-protocol.ts";
import type { Dictation } from "./streaming-application.ts";

type Environment = ForkedProgram<ToEnvironment, FromEnvironment>;

let folder: string;
let notebook: NotebookServer;
let proxy: FaultyProxy;
const environments: Environment[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "durable-mcp-lambda-"));
  notebook = await startNotebookServer();
  proxy = await createFaultyProxy({ target: notebook.url });
});
afterAll(async () => {
  await Promise.all(environments.map((environment) => environment.kill()));
  await proxy?.close();
  await notebook?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function startEnvironment(): Environment {
  const environment: Environment = forkProgram(new URL("lambda-program.ts", import.meta.url));
  environments.push(environment);
  environment.send({ type: "start", url: proxy.url, path: join(folder, "sessions.db") });
  return environment;
}

/** One invocation, after which the environment is frozen, as the service does. */
async function invoke(environment: Environment, ...words: string[]): Promise<FromEnvironment> {
  const dictation: Dictation = { chat: "chat", words };
  environment.signal("SIGCONT");
  environment.send(invocation(dictation));
  const answer = await environment.receive();
  environment.signal("SIGSTOP");
  return answer;
}

it("keeps one session over environments that are frozen as soon as they have answered", async () => {
  const first = startEnvironment();
  const begun = await invoke(first, "one");
  expect(begun).toEqual({ statusCode: 200, body: "one\none" });
  proxy.requests.splice(0);

  // Another environment, while the first is frozen: nothing that the first holds is in its way.
  const second = startEnvironment();
  const other = await invoke(second, "two");
  expect(other.body).toContain("one");
  expect(proxy.requests.splice(0)).toHaveLength(2);

  // The first goes on where it was stopped, with what the second has left.
  const thawed = await invoke(first, "three");
  expect(thawed.body).toMatch(/one[^]*two[^]*three/);
  expect(proxy.requests.splice(0)).toHaveLength(2);
  expect(await notebook.stats()).toMatchObject({ sessions: 1 });
});
