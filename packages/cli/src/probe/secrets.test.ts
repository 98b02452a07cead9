/** Each secret of a server, in each form, in what the command prints of it. */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { answers, basic, leaksIn, secretOf, startEchoes } from "../../../sessions/test/echoes.ts";
import { runCli } from "../../test/run-cli.ts";
import { temporaryFile } from "../../test/store-of-an-application.ts";

afterEach(() => void vi.unstubAllEnvs());

const cases = [
  ...answers.map(([name, reply]) => ["session", name, reply] as const),
  ...answers.slice(4, 6).map(([name, reply]) => ["stateless", name, reply] as const),
];
const call = ["--call", "echo", "--watch", "0.1"];
const token = secretOf("token").replace(" ", "");
const valueOf = (kind: string) => (kind === "basic" ? `Basic ${basic}` : secretOf(kind));
const headers = { "x-header": "header", "x-function": "function", "x-basic": "basic" };

/** All that a probe prints, for people and as JSON. */
async function print(...argv: string[]): Promise<string> {
  const all = [await runCli("probe", ...argv), await runCli("probe", "--json", ...argv)];
  return all.map(({ stdout, stderr }) => stdout + stderr).join("\n");
}

test.each(cases)(
  "in the era %s no secret that the server repeats in %s is printed",
  async (era, _, reply) => {
    const { url, echoed } = await startEchoes(era, reply);
    const atOnce = await startEchoes(era, reply, true);
    vi.stubEnv("DURABLE_MCP_BEARER", token);
    const named = Object.entries(headers).flatMap(([name, kind]) => {
      vi.stubEnv(kind.toUpperCase(), valueOf(kind));
      return ["--header-env", `${name}=${kind.toUpperCase()}`];
    });
    const own = Object.entries(headers).map(([name, kind]) => [
      name,
      kind === "basic" ? valueOf(kind) : `\${${kind.toUpperCase()}}`,
    ]);
    const file = temporaryFile("mcp.json");
    const given = { Authorization: `Bearer ${token}`, ...Object.fromEntries(own) };
    writeFileSync(
      file,
      JSON.stringify({ mcpServers: { echoes: { url: atOnce.url, headers: given } } }),
    );
    const filled = ["--variable", "HEADER", "--variable", "FUNCTION"];
    const seen = [
      await print(url, ...named, ...call),
      await print(atOnce.url, ...named, ...call),
      await print(file, ...filled, "--watch", "0.1"),
    ];
    const sent = ["token", "header", "function", "basic", "query", "path"];
    for (const told of [echoed, atOnce.echoed]) {
      expect(leaksIn(told.join("\n"))).toEqual(expect.arrayContaining(sent));
    }
    for (const text of seen) expect(leaksIn(text)).toEqual([]);
    expect(seen.join()).toContain("<secret>");
  },
);

test.each(["refuse", "fails", "throws"])(
  "a program's secrets are not printed: %s",
  async (tool) => {
    const program = fileURLToPath(
      new URL("../../../sessions/test/echoing-program.ts", import.meta.url),
    );
    vi.stubEnv("KEY", secretOf("env"));
    const args = [program, `--api-key=${secretOf("argument")}`];
    const file = temporaryFile("mcp.json");
    const server = { command: process.execPath, args: [...args, "refuse"], env: { KEY: "${KEY}" } };
    writeFileSync(file, JSON.stringify({ mcpServers: { echoes: server } }));
    const seen =
      tool === "refuse"
        ? await print(file, "--start", "--variable", "KEY")
        : await print("--env", "KEY", "--call", tool, "--", process.execPath, ...args);
    expect(seen).toContain("<secret>");
    expect(leaksIn(seen)).toEqual([]);
  },
);
