import type { Command } from "commander";
import { addRowFilter } from "../store/choose-rows.ts";
import { addServerOptions } from "../store/server-access.ts";
import { addStoreOptions } from "../store/store-options.ts";

/** Adds `sessions list | end | sweep`. */
export function addSessions(program: Command): void {
  const sessions = program
    .command("sessions")
    .description("Look into a store of sessions, and end what is left there.");

  addRowFilter(addStoreOptions(sessions.command("list")))
    .description("List the sessions of a store, those that were used last first.")
    .action(async (options, command: Command) => {
      const { listSessions } = await import("./list.ts");
      await listSessions(options, command);
    });

  addEnding(addRowFilter(addStoreOptions(sessions.command("end"))))
    .argument("[rows...]", "the names of rows in a list; or choose with an option")
    .description(
      "End sessions, on their servers and in the store. With an option, waiting calls too.",
    )
    .action(async (rows: string[], options, command: Command) => {
      const { endSessions } = await import("./end.ts");
      await endSessions(rows, options, command);
    });

  addEnding(addStoreOptions(sessions.command("sweep")))
    .description("End what nobody has used for a time, waiting calls too.")
    .requiredOption("--idle <time>", "for how long, such as 30m, 12h or 7d")
    .option("--agent <name>", "only of this agent; - for what agents share")
    .option("--touch-interval <time>", "your application's touchIntervalMs, if it sets it", "1m")
    .action(async (options, command: Command) => {
      const { sweepSessions } = await import("./sweep.ts");
      await sweepSessions(options, command);
    });
}

function addEnding(command: Command): Command {
  return addServerOptions(command)
    .option("--records-only", "remove the records, and tell no server")
    .option("--yes", "do not ask");
}
