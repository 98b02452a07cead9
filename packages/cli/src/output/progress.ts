import { oneLine } from "@durable-mcp/core/internal";
import type { Command } from "commander";
import { tell } from "./print.ts";

/** What is being done now, on stderr. */
export interface Progress {
  readonly show: (text: string) => void;
  /** Takes it off the terminal. */
  readonly clear: () => void;
}

/** On a terminal it is one line, which is overwritten; elsewhere a line for each. */
export function createProgress(command: Command): Progress {
  const { stderr } = process;
  if (!stderr.isTTY) return { show: (text) => tell(command, `… ${text}`), clear: () => undefined };
  const clear = () => stderr.write("\r\u001B[K");
  return { show: (text) => stderr.write(`\r\u001B[K… ${oneLine(text)}`), clear };
}
