import { inParallel } from "@durable-mcp/ai-sdk/internal";
import type { Command } from "commander";
import { isDisabled, readMcpJson } from "../configuration/mcp-json.ts";
import { CommandFailure } from "../output/command-failure.ts";
import { print, printJson, tell } from "../output/print.ts";
import type { Probe } from "./checks.ts";
import { connectionsModule } from "./definition.ts";
import { probeDeclared } from "./probe-declared.ts";
import { faultOf, seenJson, showProbe } from "./show-probe.ts";

/**
 * Probes the servers of a file at once. What fails for one does not stop the others.
 *
 * @throws {CommandFailure} for a file without servers, and after all output if a server cannot be used
 */
export async function probeFile(
  command: Command,
  path: string,
  { json, clear, ...probe }: Probe & { readonly json?: true | undefined; clear: () => void },
): Promise<void> {
  const servers = readMcpJson(path, "--mcp-json");
  const off = servers.filter(isDisabled).map(({ name }) => name);
  if (off.length > 0) tell(command, `Disabled in the file, and not probed: ${off.join(", ")}.`);
  const probed = servers.filter((server) => !isDisabled(server));
  const all = await inParallel(probed, async (server) => {
    const onStart = (check: string) => probe.onStart(`${server.name}: ${check}`);
    return { name: server.name, ...(await probeDeclared(server, { ...probe, onStart })) };
  });
  clear();
  if (json) {
    printJson(
      command,
      all.map((seen) => ({ name: seen.name, ...seenJson(seen) })),
    );
  } else {
    const shown = all.map((seen) =>
      showProbe(seen.name === seen.shown ? seen.name : `${seen.name}: ${seen.shown}`, seen),
    );
    const definitions = all.flatMap(({ definition }) => definition ?? []);
    if (definitions.length > 0) shown.push(`To paste\n${connectionsModule(definitions)}`);
    print(command, shown.join("\n\n"));
  }
  const faults = all.filter((seen) => faultOf(seen) !== undefined).map(({ name }) => name);
  if (faults.length === 0) return;
  throw new CommandFailure(
    `${faults.length} of ${all.length} servers cannot be used yet, or failed a check: ${faults.join(", ")}.`,
  );
}
