import { endpointName } from "@durable-mcp/core/internal";
import { jsonText } from "../output/print.ts";
import type { Verdict } from "./verdict.ts";

/** The definition of a connection, to paste. */
export interface Definition {
  /** Lines. */
  readonly imports: readonly string[];
  /** Of the connection. */
  readonly name: string;
  /** An expression. */
  readonly text: string;
}

/** Where the pasted definition finds its credentials again. */
export interface DefinitionInput {
  readonly verdict: Verdict;
  /** As the server names itself. */
  readonly server: { readonly name: string; readonly title?: string } | undefined;
  /** @default made of the server's own name */
  readonly name?: string | undefined;
  /** An expression in the place of the URL. @default the URL, without what may be secret in it */
  readonly urlText?: string | undefined;
  /** Names of variables, by the header that each one fills. */
  readonly headerVariables: Readonly<Record<string, string>>;
  /** The variable of the bearer token, if one was given. */
  readonly bearerVariable?: string | undefined;
}

const signInGuide = "https://github.com/durable-mcp/durable-mcp/blob/main/docs/guides/sign-in.md";

export function defineForUrl(url: URL, input: DefinitionInput): Definition {
  const { verdict, headerVariables, bearerVariable } = input;
  const headers = Object.entries(headerVariables).map(
    ([name, variable]) => `    ${jsonText(name)}: () => ${variableText(variable)},`,
  );
  const { urlText = jsonText(endpointName(url)) } = input;
  const isWhole = urlText === jsonText(url.href) || isVariable(urlText);
  const wantsSignIn = verdict.auth === "oauth" && bearerVariable === undefined;
  const lines = [
    "defineMcpClientConnection({",
    `  url: ${urlText},${isWhole ? "" : fillIn}`,
    `  description: ${describe(input)}, // for people, and in prompts`,
    ...(verdict.session === undefined ? [] : [`  session: "${verdict.session}",`]),
    ...(verdict.memory === "server" ? ['  memory: "server",'] : []),
    ...(verdict.memory === "pinned" ? ["  memory: { pinMs: 10 * 60_000 },"] : []),
    ...(wantsSignIn ? ["  auth: oauth,"] : []),
    ...(bearerVariable === undefined ? [] : [`  auth: () => ${variableText(bearerVariable)},`]),
    ...(headers.length === 0 ? [] : ["  headers: {", ...headers, "  },"]),
    "})",
  ];
  const imports = [
    'import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";',
    ...(wantsSignIn ? [`import { oauth } from "./oauth.ts"; // createOAuth: ${signInGuide}`] : []),
  ];
  return { imports, name: nameOf(input), text: lines.join("\n") };
}

interface CommandInput extends Pick<DefinitionInput, "server" | "name"> {
  /** Expressions: the program and its arguments. */
  readonly words: readonly string[];
  /** Names of variables, by the variable of the program that each one fills. */
  readonly variables: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /** Whether something secret was left out of the words. */
  readonly isCut?: boolean | undefined;
}

export function defineForCommand(input: CommandInput): Definition {
  const { cwd, isCut, words, variables } = input;
  const [command = "", ...args] = words;
  const env = Object.entries(variables).map(
    ([name, variable]) => `    ${keyText(name)}: () => ${variableText(variable)},`,
  );
  const lines = [
    "defineMcpStdioConnection({",
    `  command: ${command},`,
    ...(args.length === 0 ? [] : [`  args: [${args.join(", ")}],${isCut ? fillIn : ""}`]),
    ...(cwd === undefined ? [] : [`  cwd: ${cwd},`]),
    `  description: ${describe(input)}, // for people, and in prompts`,
    ...(env.length === 0 ? [] : ["  env: {", ...env, "  },"]),
    "})",
  ];
  const imports = ['import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";'];
  return { imports, name: nameOf(input), text: lines.join("\n") };
}

const fillIn = " // the rest may be secret: fill it in";

/** A module with one connection. */
export function moduleOf({ imports, name, text }: Definition): string {
  return [...imports, "", `export const ${identifierOf(name)} = ${text};`].join("\n");
}

/** A module with connections of which each has a name of its own. */
export function connectionsModule(definitions: readonly Definition[]): string {
  const taken = new Set<string>();
  const members = definitions.map(({ name, text }) => {
    const first = connectionName.test(name) ? name : identifierOf(name);
    let own = first;
    for (let next = 2; taken.has(own.toLowerCase()); next += 1) own = `${first}-${next}`;
    taken.add(own.toLowerCase());
    return `  ${keyText(own)}: ${text.replaceAll("\n", "\n  ")},`;
  });
  const imports = new Set(definitions.flatMap((each) => each.imports));
  return [...imports, "", "export const connections = {", ...members, "};"].join("\n");
}

/** What a connection may be named. */
const connectionName = /^[a-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*$/;

function keyText(name: string): string {
  return /^[A-Za-z]\w*$/.test(name) ? name : jsonText(name);
}

/** The expression of a variable's value. */
export function variableText(name: string): string {
  return `process.env[${jsonText(name)}] ?? ""`;
}

const isVariable = (text: string) => text.startsWith("process.env[");

const longestDescription = 80;

function describe({ server }: Pick<DefinitionInput, "server">): string {
  const text = server?.title ?? server?.name ?? "";
  return jsonText(text.slice(0, longestDescription) || "What to use it for.");
}

const nameOf = ({ name, server }: Pick<DefinitionInput, "name" | "server">) =>
  name ?? identifierOf(server?.name);

const reserved =
  /^(?:default|delete|export|import|function|new|null|package|return|this|void|with)$/;

/** A name for the constant, of the words of the server's own. */
function identifierOf(name = ""): string {
  if (/^[a-z][A-Za-z0-9]{0,39}$/.test(name) && !reserved.test(name)) return name;
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
