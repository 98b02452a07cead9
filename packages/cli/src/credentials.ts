import { wrongUsage } from "./output/command-failure.ts";

/** The variable of the bearer token: other users of a machine can read its command lines. */
export const bearerVariable = "DURABLE_MCP_BEARER";

/** Takes a `--header-env NAME=VARIABLE` to those before it. */
export function addHeader(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const [, name, variable] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([A-Za-z_]\w*)$/.exec(text) ?? [];
  if (name !== undefined && variable !== undefined) {
    return { ...before, [name.toLowerCase()]: variable };
  }
  // The parser would repeat what may be a secret.
  throw wrongUsage(
    "--header-env must be NAME=VARIABLE: a header, and the environment variable with its value",
  );
}

/** The headers of `--header-env`, with the bearer token if there is one. */
export function headersOf(headerEnv: Readonly<Record<string, string>> = {}) {
  const bearer = process.env[bearerVariable];
  const headers: Record<string, string> = bearer ? { authorization: `Bearer ${bearer}` } : {};
  for (const [name, variable] of Object.entries(headerEnv)) {
    headers[name] = variableOf("--header-env", variable);
  }
  return headers;
}

/** The value of an environment variable that an option names. */
export function variableOf(option: string, name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== "") return value;
  throw wrongUsage(
    `${option}: the environment has no variable ${name}. Give the variable's name, not its value.`,
  );
}
