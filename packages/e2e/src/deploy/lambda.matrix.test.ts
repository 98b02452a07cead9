import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ForkedProgram, forkProgram } from "../durable/fork-program.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import { useServer } from "../servers/use-server.ts";
import { type FromEnvironment, invocation, type ToEnvironment } from "./lambda-protocol.ts";
import type { Dictation } from "./streaming-application.ts";

type Environment = ForkedProgram<ToEnvironment, FromEnvironment>;

let folder: string;
const notebook = useServer(startNotebookServer);
const environments: Environment[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "durable-mcp-lambda-"));
});
afterAll(async () => {
  await Promise.all(environments.map((environment) => environment.kill()));
  rmSync(folder, { recursive: true, force: true });
});

function startEnvironment(): Environment {
  const environment: Environment = forkProgram(new URL("lambda-program.ts", import.meta.url));
  environments.push(environment);
  environment.send({ type: "start", url: notebook.proxy.url, path: join(folder, "sessions.db") });
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
  notebook.proxy.requests.splice(0);

  // Another environment, while the first is frozen: nothing that the first holds is in its way.
  const second = startEnvironment();
  const other = await invoke(second, "two");
  expect(other.body).toContain("one");
  expect(notebook.proxy.requests.splice(0)).toHaveLength(2);

  // The first goes on where it was stopped, with what the second has left.
  const thawed = await invoke(first, "three");
  expect(thawed.body).toMatch(/one[^]*two[^]*three/);
  expect(notebook.proxy.requests.splice(0)).toHaveLength(2);
  expect(await notebook.server.stats()).toMatchObject({ sessions: 1 });
});
