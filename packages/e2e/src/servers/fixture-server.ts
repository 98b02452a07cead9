import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programArguments } from "../processes/programs.ts";
import { startServerProcess, type TestServer } from "./server-process.ts";

/** A server of ours: every run of a tool is on record, also after the server was killed. */
export interface FixtureServer extends TestServer {
  /** How often a tool started with this text in its arguments. */
  runs: (text: string) => number;
  /** All that it has put on record: a line of JSON each. */
  journal: () => string[];
}

/** Starts one of the servers in `src/fixtures`, which Node runs from source. */
export function startFixtureServer(
  name: string,
  file: string,
  ...options: string[]
): Promise<FixtureServer> {
  const script = programArguments(new URL(`../fixtures/${file}`, import.meta.url));
  return startNotebookProgram({ name, args: [...script, ...options] });
}

/** Starts any program that serves the notebook tools on the port in `--port`. */
export async function startNotebookProgram(server: {
  name: string;
  /** Of the program; the port follows them. */
  args: string[];
  /** @default node */
  program?: string;
}): Promise<FixtureServer> {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-fixture-"));
  const journal = join(folder, "runs.jsonl");
  const started = await startServerProcess({
    name: server.name,
    ...(server.program !== undefined && { program: server.program }),
    args: (port) => [...server.args, "--port", String(port)],
    env: () => ({ NOTEBOOK_JOURNAL: journal }),
    onStop: () => rmSync(folder, { recursive: true, force: true }),
  });
  const lines = () =>
    existsSync(journal) ? readFileSync(journal, "utf8").split("\n").slice(0, -1) : [];
  return {
    ...started,
    journal: lines,
    runs: (text) => lines().filter((line) => line.includes(text)).length,
  };
}
