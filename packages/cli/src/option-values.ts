import { isRecord } from "@durable-mcp/core/internal";
import { InvalidArgumentError, Option } from "commander";
import { wrongUsage } from "./output/command-failure.ts";

const longestSeconds = 3_600;

export function seconds(flags: string, description: string, usual: number): Option {
  return new Option(flags, `${description}, in seconds`).default(usual).argParser((text) => {
    const value = Number(text);
    if (Number.isFinite(value) && value > 0 && value <= longestSeconds) return value;
    throw new InvalidArgumentError(`A number of seconds up to ${longestSeconds} is meant.`);
  });
}

export function readArguments(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch {
    // The message below is for this as well.
  }
  throw new InvalidArgumentError(`A JSON object is meant, such as '{"action":"list"}'.`);
}

/** Takes the name of a variable to those before it. */
export const variables =
  (option: string) =>
  (name: string, before: readonly string[] = []): string[] => {
    if (/^[A-Za-z_]\w*$/.test(name)) return [...before, name];
    // The parser would repeat what may be a secret.
    throw wrongUsage(`${option} takes the name of an environment variable, without a value.`);
  };

export function readPort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError("A port from 0 to 65535 is meant.");
}
