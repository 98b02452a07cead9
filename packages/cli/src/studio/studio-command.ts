import type { Command } from "commander";
import { readPort } from "../option-values.ts";
import { addStoreOptions } from "../store/store-options.ts";

const studioHelp = `
Examples:
  durable-mcp studio --store file:sessions.db
  durable-mcp studio --store file:sessions.db --act --connections ./connections.ts

It prints a link that opens one browser of this machine. The module is loaded, so its code runs.
It ends with SIGINT or SIGTERM.`;

export function addStudio(program: Command): void {
  addStoreOptions(program.command("studio"))
    .description("Show in a browser which chats have sessions, and what waits.")
    .option("--port <number>", "where it listens; 0 for any", readPort, 0)
    .option("--agent <name>", "the agent; - for what agents share", "default")
    .option("--names", "show the ids of chats and users")
    .option("--act", "let the browser take calls back; with --connections answer and end, too")
    .option("--connections <path>", "a module that exports the agent's connections")
    .addHelpText("after", studioHelp)
    .action(async (options, command: Command) =>
      (await import("./run-studio.ts")).runStudio(options, command),
    );
}
