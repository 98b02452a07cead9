import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFaultyProxy } from "@durable-mcp/testing";
import { startNotebookServer } from "../../servers/notebook.ts";
import { startGateway } from "../gateway-process.ts";
import { type CodingAgent, runAgent } from "./coding-agents.ts";
import { notesIn } from "./play.ts";
import { type ScriptedCall, startScriptedModel } from "./scripted-model.ts";

const runMs = 120_000;
const note = (text: string): ScriptedCall => ({ tool: "add_note", args: { text } });

/**
 * A run of each agent and its resume, one agent after the other, under one name.
 *
 * @param onAgent gets the notes that each call found, and the server's sessions so far
 * @returns whether all were in one session
 */
export async function playNamed(
  agents: readonly CodingAgent[],
  onAgent: (name: string, first: string, resumed: string, sessions: number) => void,
): Promise<boolean> {
  const server = await startNotebookServer();
  const proxy = await createFaultyProxy({ target: server.url });
  const gateway = await startGateway({ notebook: proxy.url });
  const url = `${gateway.processes[0]!.urlOf("notebook")}@work`;
  const initializes = () =>
    proxy.requests.filter(({ rpcMethod }) => rpcMethod === "initialize").length;
  let made = 0;
  let isOne = true;
  try {
    for (const agent of agents) {
      const home = mkdtempSync(join(tmpdir(), "durable-mcp-agent-"));
      const play = async (script: readonly ScriptedCall[], resume: boolean) => {
        // On a busy machine some ask the model before they have the server's tools.
        for (let tries = 1; ; tries += 1) {
          const model = await startScriptedModel(script, resume);
          await runAgent(agent, { model: model.origin, server: url }, runMs, { home, resume });
          model.stop();
          const notes = model.results.map((result) => notesIn(result) ?? "none");
          if (notes.length > 0 || tries === 3) return notes;
        }
      };
      const [one, two, three, four] = ["one", "two", "three", "four"].map((word) =>
        note(`${agent.name} ${word}`),
      );
      const first = await play([one!, two!], false);
      const resumed = await play([three!, four!], true);
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
      onAgent(`${agent.name} ${agent.version}`, first.join(" "), resumed.join(" "), initializes());
      const expected = [1, 2, 3, 4].map((each) => String(made + each));
      isOne &&= initializes() === 1 && [...first, ...resumed].join() === expected.join();
      made += 4;
    }
    return isOne;
  } finally {
    await gateway.stop();
    await proxy.close();
    await server.stop();
  }
}
