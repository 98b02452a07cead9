import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { programArguments } from "../processes/programs.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import { startServerProcess, type TestServer } from "../servers/server-process.ts";
import { useServer } from "../servers/use-server.ts";
import type { ContainerInput } from "./container-program.ts";
import type { Dictation } from "./streaming-application.ts";

const script = new URL("container-program.ts", import.meta.url);
let folder: string;
const notebook = useServer(startNotebookServer);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "durable-mcp-container-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A container that gives answers under way this time after SIGTERM. */
async function startContainer(graceMs: number): Promise<TestServer> {
  const path = join(folder, `${graceMs}.db`);
  return await startServerProcess({
    name: "container",
    args: () => programArguments(script),
    env: (port) => {
      const input: ContainerInput = { url: notebook.proxy.url, path, port, graceMs };
      return { CONTAINER: JSON.stringify(input) };
    },
  });
}

async function post({ url }: TestServer, dictation: Dictation): Promise<Response> {
  return await fetch(url, { method: "POST", body: JSON.stringify(dictation) });
}

const graces: [what: string, graceMs: number, isWhole: boolean][] = [
  ["answers what is under way", 10_000, true],
  ["cuts off what takes too long", 50, false],
];
it.each(graces)("%s at SIGTERM, and the next process goes on", async (_, graceMs, isWhole) => {
  const container = await startContainer(graceMs);
  try {
    const chat = `chat ${graceMs}`;
    const answer = await post(container, { chat, words: ["one", "two"], pauseMs: 400 });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect(await reader.read()).toMatchObject({ value: "one\n" });

    const [rest] = await Promise.allSettled([readOn(reader), container.restartPolitely()]);
    expect(rest.status === "fulfilled" && rest.value.includes("two")).toBe(isWhole);

    notebook.proxy.requests.splice(0);
    const next = await post(container, { chat, words: ["three"] });
    expect(await next.text()).toMatch(/one[^]*three/);
    expect(notebook.proxy.requests.splice(0)).toHaveLength(2);
  } finally {
    await container.stop();
  }
});

async function readOn(reader: ReadableStreamDefaultReader<string>): Promise<string> {
  const { done, value } = await reader.read();
  return done ? "" : value + (await readOn(reader));
}
