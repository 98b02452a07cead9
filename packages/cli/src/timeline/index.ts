import type { Command } from "commander";
import type { TimelineOptions } from "./write-timeline.ts";

/** Adds `timeline`: the picture of what an event log tells. */
export function addTimeline(program: Command): void {
  program
    .command("timeline")
    .description("Writes a page that shows the steps of an agent session, from an event log.")
    .argument("<events.jsonl>", "the file that createEventLog writes")
    .option("--out <file>", "where the page goes", "timeline.html")
    .option("--svg <file>", "write only the picture, for a README")
    .option(
      "--session <digest>",
      "only this agent session, by the digest that the page and the log show",
    )
    .option("--json", "what was drawn, as JSON")
    .action(async (path: string, options: TimelineOptions, command: Command) => {
      const { writeTimeline } = await import("./write-timeline.ts");
      await writeTimeline(path, options, command);
    });
}
