import { textsOf, variableIn } from "../configuration/declared-server.ts";
import { jsonText } from "../output/print.ts";
import type { Verdict } from "./verdict.ts";
import { shownUrl } from "./wire.ts";

/** The definition of a connection, to paste. */
export interface Definition {
  readonly imports: readonly string[];
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
  /** As an `mcpServers` file has it. Its variables are named, and no value of its headers and `env` is shown. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** Takes what is secret out of a text. */
  readonly scrub: (text: string) => string;
}

const signInGuide = "https://github.com/durable-mcp/durable-mcp/blob/main/docs/guides/sign-in.md";
const importOfOAuth = `import { oauth } from "./oauth.ts"; // createOAuth: ${signInGuide}`;
const importOfUrls = 'import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";';
const importOfPrograms = 'import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";';
/** Stands in the place of what is secret. */
export const secret = "<secret>";
const fillIn = " // the rest may be secret: fill it in";

export function defineForUrl(url: URL, input: DefinitionInput): Definition {
  const { entry, name = "", scrub, verdict } = input;
  const [auth, headers]: [string[], string[]] = [[], []];
  for (const [header, text] of Object.entries(textsOf(entry["headers"]))) {
    const [, token] = /^authorization: Bearer (\$\{.+)$/i.exec(`${header}: ${text}`) ?? [];
    const own = `MCP_${name}_${header}`.toUpperCase().replaceAll(/\W+/g, "_");
    const value = `() => ${variableText(variableIn(token ?? text) ?? own)},`;
    if (token === undefined) headers.push(`    ${jsonText(header)}: ${value}`);
    else auth.push(`  auth: ${value}`);
  }
  const shown = scrub(shownUrl(url));
  const isWhole = shown === url.href || variableIn(entry["url"]) !== undefined;
  const wantsSignIn = verdict.auth === "oauth" && auth.length === 0;
  const lines = [
    "defineMcpClientConnection({",
    `  url: ${expressionOf(entry["url"], shown)},${isWhole ? "" : fillIn}`,
    describe(input),
    ...(verdict.session === undefined ? [] : [`  session: "${verdict.session}",`]),
    ...(verdict.memory === "server" ? ['  memory: "server",'] : []),
    ...(verdict.memory === "pinned" ? ["  memory: { pinMs: 10 * 60_000 },"] : []),
    ...(wantsSignIn ? ["  auth: oauth,"] : auth),
    ...(headers.length === 0 ? [] : ["  headers: {", ...headers, "  },"]),
    "})",
  ];
  const imports = [importOfUrls, ...(wantsSignIn ? [importOfOAuth] : [])];
  return { imports, name: nameOf(input), text: lines.join("\n") };
}

/** @param words the program and its arguments */
export function defineForCommand(words: readonly string[], input: DefinitionInput): Definition {
  const { entry, scrub } = input;
  const written = Array.isArray(entry["args"]) ? (entry["args"] as unknown[]) : [];
  const [command = "", ...args] = [entry["command"], ...written].map((word, at) =>
    expressionOf(word, scrub(words[at] ?? "")),
  );
  const env = Object.entries(textsOf(entry["env"])).map(
    ([name, text]) => `    ${keyText(name)}: () => ${variableText(variableIn(text) ?? name)},`,
  );
  const { cwd } = entry;
  const given = args.join(", ");
  const lines = [
    "defineMcpStdioConnection({",
    `  command: ${command},`,
    ...(args.length === 0 ? [] : [`  args: [${given}],${given.includes(secret) ? fillIn : ""}`]),
    ...(typeof cwd === "string" ? [`  cwd: ${expressionOf(cwd, scrub(cwd))},`] : []),
    describe(input),
    ...(env.length === 0 ? [] : ["  env: {", ...env, "  },"]),
    "})",
  ];
  return { imports: [importOfPrograms], name: nameOf(input), text: lines.join("\n") };
}

/** A module with one connection. */
export function moduleOf({ imports, name, text }: Definition): string {
  return [...imports, "", `export const ${identifierOf(name)} = ${text};`].join("\n");
}

/** What a connection may be named. */
export const connectionName = /^[a-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*$/;

/** A module with several, in one object. */
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

const keyText = (name: string) => (/^[A-Za-z]\w*$/.test(name) ? name : jsonText(name));
const variableText = (name: string) => `process.env[${jsonText(name)}] ?? ""`;

/** The variable that a text consists of, or what may be shown of its value. */
function expressionOf(written: unknown, shown: string): string {
  const variable = variableIn(written);
  return variable === undefined ? jsonText(shown) : variableText(variable);
}

const longestDescription = 80;

function describe({ server }: DefinitionInput): string {
  const text = server?.title ?? server?.name ?? "";
  const shown = jsonText(text.slice(0, longestDescription) || "What to use it for.");
  return `  description: ${shown}, // for people, and in prompts`;
}

const nameOf = ({ name, server }: DefinitionInput) => name || identifierOf(server?.name);

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
