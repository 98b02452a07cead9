import type { Command } from "commander";
import { CommandFailure } from "../output/command-failure.ts";
import { print, printJson } from "../output/print.ts";
import { renderRows } from "./checks.ts";
import { connectionsModule, moduleOf } from "./definition.ts";
import type { Seen } from "./probe-declared.ts";

/** Prints what probes have seen. @throws {CommandFailure} after all output, if a server cannot be used */
export function printProbes(
  command: Command,
  all: readonly Seen[],
  { json, isFile }: { readonly json: true | undefined; readonly isFile: boolean },
): void {
  const definitions = all.flatMap(({ definition }) => definition ?? []);
  if (json) {
    const documents = all.map(({ name, target, verdict, definition, ...seen }) => ({
      ...{ ...(isFile && { name }), target, ...verdict, ...seen },
      definition: definition && moduleOf(definition),
    }));
    printJson(command, isFile ? documents : documents[0]);
  } else {
    const paste = isFile ? connectionsModule(definitions) : definitions.map(moduleOf).join("");
    const toPaste = definitions.length > 0 ? [`To paste\n${paste}`] : [];
    print(command, [...all.map(showProbe), ...toPaste].join("\n\n"));
  }
  const faulty = all.filter((seen) => faultOf(seen) !== undefined);
  if (faulty[0] === undefined) return;
  const names = faulty.map(({ name }) => name).join(", ");
  const fault = isFile ? `Not usable yet, or a check failed: ${names}.` : faultOf(faulty[0]);
  throw new CommandFailure(fault!);
}

function faultOf({ rows, verdict }: Seen): string | undefined {
  const failed = rows.find(({ outcome }) => outcome === "failed");
  if (failed !== undefined) return `${failed.check}: ${failed.says}`;
  return verdict.isUsable ? undefined : verdict.sentences[0];
}

function showProbe({ name, target, rows, verdict: { sentences } }: Seen): string {
  const head = [name, target].filter((text) => text !== "").join(": ");
  const [first = "", ...rest] = sentences;
  const more = rest.map((sentence) => `- ${sentence}`);
  return [head, renderRows(rows), "", "Verdict", first, ...more].join("\n");
}
