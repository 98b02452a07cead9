import { endpointName } from "@durable-mcp/core/internal";
import { jsonText } from "../output/print.ts";
import type { Verdict } from "./verdict.ts";

/** Where the pasted definition finds its credentials again. */
export interface DefinitionInput {
  readonly verdict: Verdict;
  /** As the server names itself. */
  readonly server: { readonly name: string; readonly title?: string } | undefined;
  /** Names of variables, by the header that each one fills. */
  readonly headerVariables: Readonly<Record<string, string>>;
  /** The variable of the bearer token, if one was given. */
  readonly bearerVariable?: string | undefined;
}

const signInGuide = "https://github.com/durable-mcp/durable-mcp/blob/main/docs/guides/sign-in.md";

/** The definition of a connection, to paste. */
export function defineForUrl(url: URL, input: DefinitionInput): string {
  const { verdict, headerVariables, bearerVariable } = input;
  const headers = Object.entries(headerVariables).map(
    ([name, variable]) => `    ${jsonText(name)}: () => ${variableText(variable)},`,
  );
  const shown = endpointName(url);
  const isWhole = shown === url.href;
  const wantsSignIn = verdict.auth === "oauth" && bearerVariable === undefined;
  return [
    'import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";',
    ...(wantsSignIn ? [`import { oauth } from "./oauth.ts"; // createOAuth: ${signInGuide}`] : []),
    "",
    `export const ${identifierOf(input.server?.name)} = defineMcpClientConnection({`,
    `  url: ${jsonText(shown)},${isWhole ? "" : " // the rest may be secret: fill it in"}`,
    `  description: ${describe(input)}, // for people, and in prompts`,
    ...(verdict.session === undefined ? [] : [`  session: "${verdict.session}",`]),
    ...(verdict.memory === "server" ? ['  memory: "server",'] : []),
    ...(verdict.memory === "pinned" ? ["  memory: { pinMs: 10 * 60_000 },"] : []),
    ...(wantsSignIn ? ["  auth: oauth,"] : []),
    ...(bearerVariable === undefined ? [] : [`  auth: () => ${variableText(bearerVariable)},`]),
    ...(headers.length === 0 ? [] : ["  headers: {", ...headers, "  },"]),
    "});",
  ].join("\n");
}

/** The definition of a program, to paste. */
export function defineForCommand(
  [command = "", ...args]: readonly string[],
  input: Pick<DefinitionInput, "server"> & { readonly variables: readonly string[] },
): string {
  const env = input.variables.map((name) => `    ${name}: () => ${variableText(name)},`);
  return [
    'import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";',
    "",
    `export const ${identifierOf(input.server?.name)} = defineMcpStdioConnection({`,
    `  command: ${jsonText(command)},`,
    ...(args.length === 0 ? [] : [`  args: [${args.map((arg) => jsonText(arg)).join(", ")}],`]),
    `  description: ${describe(input)}, // for people, and in prompts`,
    ...(env.length === 0 ? [] : ["  env: {", ...env, "  },"]),
    "});",
  ].join("\n");
}

function variableText(name: string): string {
  return `process.env[${jsonText(name)}] ?? ""`;
}

const longestDescription = 80;

function describe({ server }: Pick<DefinitionInput, "server">): string {
  const text = server?.title ?? server?.name ?? "";
  return jsonText(text.slice(0, longestDescription) || "What to use it for.");
}

const reserved =
  /^(?:default|delete|export|import|function|new|null|package|return|this|void|with)$/;

/** A name for the constant, of the words of the server's own. */
function identifierOf(name = ""): string {
  const [first = "", ...rest] = name
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "" && !/^(?:mcp|server)$/i.test(word));
  const words = [
    first.toLowerCase(),
    ...rest.map((word) => word[0]!.toUpperCase() + word.slice(1)),
  ];
  const text = words.join("").slice(0, 40);
  return /^[a-z]/.test(text) && !reserved.test(text) ? text : "server";
}
