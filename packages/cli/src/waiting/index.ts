import type { Command } from "commander";
import { addRowFilter } from "../store/choose-rows.ts";
import { addServerOptions } from "../store/server-access.ts";
import { addStoreOptions } from "../store/store-options.ts";

/** Adds `waiting list | answer | withdraw`. */
export function addWaiting(program: Command): void {
  const waiting = program
    .command("waiting")
    .description("Look at the calls that wait for a person, and answer them.");

  addRowFilter(addStoreOptions(waiting.command("list")))
    .description("List the calls that wait, and what a person has to do.")
    .option("--all", "those that are over, too")
    .action(async (options, command: Command) => {
      const { listWaiting } = await import("./list.ts");
      await listWaiting(options, command);
    });

  addServerOptions(addStoreOptions(waiting.command("answer")))
    .argument("<row>", "the name of the row in the list, or its first characters")
    .description("Show a call's questions, ask for the answers, and send them once.")
    .option(
      "--data <json>",
      "the answers under the server's keys, instead of questions; - for stdin",
    )
    .option("--ask-again", "if the time of the questions is up, start the call over")
    .option("--yes", "do not ask before the answers are sent")
    .action(async (row: string, options, command: Command) => {
      const { answerWaiting } = await import("./answer.ts");
      await answerWaiting(row, options, command);
    });

  addStoreOptions(waiting.command("withdraw"))
    .argument("<rows...>", "the names of the rows in the list")
    .description("Take calls back. They were not carried out, and the model is told.")
    .option("--yes", "do not ask")
    .action(async (rows: string[], options, command: Command) => {
      const { withdrawWaiting } = await import("./withdraw.ts");
      await withdrawWaiting(rows, options, command);
    });
}
