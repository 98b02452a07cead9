import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../processes/free-port.ts";
import type { Finding } from "./finding.ts";
import type { MadeProject } from "./make-project.ts";
import type { NodeRelease } from "./node-releases.ts";
import { runCommand } from "./run-command.ts";
import { serve } from "./cart-server.ts";

/** Runs the installed command as `npx` does: its version, and a probe of a server. */
export async function checkCommand({ folder }: MadeProject, node: NodeRelease): Promise<Finding[]> {
  const installed = join(folder, "node_modules/@durable-mcp/cli");
  const { version, bin } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as {
    readonly version: string;
    readonly bin: { readonly "durable-mcp": string };
  };
  const command = join(installed, bin["durable-mcp"]);
  const findings: Finding[] = [];
  const check = async (name: string, args: string[], isRight: (output: string) => boolean) => {
    const { isDone, output } = await runCommand(folder, node.program, [command, ...args]);
    if (isDone && isRight(output)) return;
    const mode = `durable-mcp ${name}, Node ${node.version}`;
    const fix = "run the command by hand in the project (`--keep`)";
    findings.push({ kind: "failure", mode, problem: output, fix });
  };
  await check("--version", ["--version"], (output) => output.trim() === version);
  const port = await freePort();
  // Not `await using`: the check of the imports cannot parse it.
  const server = await serve(port);
  try {
    const probe = ["probe", `http://127.0.0.1:${port}/mcp`];
    await check("probe", probe, (output) => output.includes('session: "stateful"'));
  } finally {
    await server[Symbol.asyncDispose]();
  }
  return findings;
}
