import { existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { startLoopbackServer } from "../../../oauth/test/loopback-server.ts";
import { findProgram } from "../../../stores/test/find-program.ts";
import { runCli, runCliJson } from "../../test/run-cli.ts";
import { startSessionServer } from "../../test/session-server.ts";
import { keys, runAtTerminal } from "../../test/start-cli.ts";
import { temporaryFile } from "../../test/store-of-an-application.ts";

afterEach(() => vi.unstubAllEnvs());

const secrets = [
  "a-token-of-mine",
  "a-key-in-the-file",
  "a-word-of-the-program",
  "an-own-argument",
];

/** A program that repeats its secrets, and is no server. */
const blabs = "console.error(process.env.WORD, process.argv.at(-1)); process.exit(3)";

function writeFile(content: unknown): string {
  const path = temporaryFile("mcp.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const allowed = ["--start", ...["NOTES_TOKEN", "FOLDER"].flatMap((name) => ["--variable", name])];
const probe = (path: string) => ["probe", path, "--watch", "0.1", ...allowed];

/** A file with a server that works, one whose entry does not, a program that ends, and one that is disabled. */
async function writeServers() {
  const server = await startSessionServer({
    refusal: (id) => ({ status: 404, body: `no session ${id}: ${secrets.slice(0, 2).join()}` }),
  });
  vi.stubEnv("NOTES_TOKEN", secrets[0]);
  vi.stubEnv("NO_SUCH_KEY", "");
  const headers = { Authorization: "Bearer ${env:NOTES_TOKEN}", "x-api-key": secrets[1] };
  const path = writeFile({
    mcpServers: {
      notes: { url: server.url.href, headers, timeout: 5 },
      "\u001b[2Jbroken\n": { url: "https://mcp.example", headers: { a: "${NO_SUCH_KEY}" } },
      program: {
        ...{ command: process.execPath, args: ["-e", blabs, "--", `--api-key=${secrets[3]}`] },
        env: { WORD: secrets[2] },
      },
      off: { url: "https://mcp.example", disabled: true },
    },
  });
  return { path, server };
}

test("each server of a file is probed, and what fails for one does not stop the others", async () => {
  const { path, server } = await writeServers();
  const { json, exitCode, stderr } = await runCliJson(...probe(path));
  expect(exitCode).toBe(1);
  expect(stderr).toContain("Not usable yet, or a check failed: [2Jbroken, program.");
  expect(stderr).toContain("not probed: off");
  expect(json).toMatchObject([
    { name: "notes", isUsable: true, session: "stateful", facts: { resumedRequests: 1 } },
    { name: "[2Jbroken", isUsable: false, rows: [{ check: "its entry", outcome: "failed" }] },
    { name: "program", isUsable: false, rows: [{ check: "server", outcome: "failed" }] },
  ]);
  expect(json[1].rows[0].says).toContain("NO_SUCH_KEY");
  expect(json[2].rows[0].says).toContain("exit code 3");
  expect(json[0].rows.at(-1).says).toContain("refuses timeout");
  expect(server.open()).toBe(0);
});

test("no value of a header, of a variable or of an argument is shown, and no escape of a name", async () => {
  const { path, server } = await writeServers();
  const text = await runCli(...probe(path));
  const { json, stderr } = await runCliJson(...probe(path));
  const seen = text.stdout + text.stderr + stderr + JSON.stringify(json);
  for (const secret of [...secrets, ...server.ids]) expect(seen).not.toContain(secret);
  // oxlint-disable-next-line no-control-regex
  expect(text.stdout + text.stderr).not.toMatch(/\u001b/);
  expect(text.stdout).toContain(
    "export const connections = {\n  notes: defineMcpClientConnection({",
  );
  expect(text.stdout).toContain('auth: () => process.env["NOTES_TOKEN"] ?? "",');
  expect(text.stdout).toContain('"x-api-key": () => process.env["MCP_NOTES_X_API_KEY"] ?? "",');
});

test("a program is defined without the values of its variables, and what names itself secret", async () => {
  const code = `process.stdin.on("data", (chunk) => {
    for (const line of String(chunk).split("\\n").filter(Boolean)) {
      const { id, method } = JSON.parse(line);
      const result = method === "tools/list" ? { tools: [] } : {
        protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "files", version: process.env.WORD },
      };
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    }
  });`;
  vi.stubEnv("FOLDER", "/a/folder/of/mine");
  const args = ["-e", code, "--", "${FOLDER}", "--token=an-own-argument"];
  const env = { WORD: "a-word-of-the-program", OTHER: "${env:FOLDER}" };
  const path = writeFile({ mcpServers: { files: { command: process.execPath, args, env } } });
  const { json, exitCode, stdout } = await runCliJson(...probe(path));
  expect(exitCode).toBe(0);
  expect(json[0].definition).toContain('"--", process.env["FOLDER"] ?? "", "--token=<secret>"],');
  expect(json[0].definition).toContain('    WORD: () => process.env["WORD"] ?? "",');
  expect(json[0].definition).toContain('    OTHER: () => process.env["FOLDER"] ?? "",');
  expect(stdout).not.toMatch(/a-word-of|an-own-arg|folder\/of/);
});

test("a file as VS Code has it, with comments, under any name", async () => {
  const server = await startSessionServer();
  vi.stubEnv("SERVER_URL", server.url.href);
  const path = writeFile(`{
    // The one server.
    "servers": { "notes": { "type": "http", "url": "\${env:SERVER_URL}", }, /* no more */ },
  }`);
  const seen = await runCli(
    "probe",
    "--mcp-json",
    path,
    "--watch",
    "0.1",
    "--variable",
    "SERVER_URL",
  );
  expect(seen.exitCode).toBe(0);
  expect(seen.stdout).toContain('url: process.env["SERVER_URL"] ?? "",');
  expect(seen.stdout).not.toContain(server.url.host);
});

/** A file whose entries want a variable of the shell, and a program started. */
const writeGreedy = async () => {
  const got: (string | string[] | undefined)[] = [];
  const { origin } = await startLoopbackServer((request, response) => {
    got.push(request.url, request.headers["a"]);
    response.writeHead(404).end();
  });
  vi.stubEnv("A_KEY_OF_THE_SHELL", "the-key-of-the-shell");
  const started = temporaryFile("started");
  const touch = `require("node:fs").writeFileSync(${JSON.stringify(started)}, "")`;
  const path = writeFile({
    mcpServers: {
      greedy: {
        url: `${origin}/\${A_KEY_OF_THE_SHELL}`,
        headers: { a: "${env:A_KEY_OF_THE_SHELL}" },
      },
      modest: { url: origin, headers: { a: "${A_KEY_OF_THE_SHELL:-a-default}" } },
      program: {
        command: process.execPath,
        args: ["-e", touch],
        env: { K: "${A_KEY_OF_THE_SHELL}" },
      },
    },
  });
  return { path, got, started };
};

describe("without being asked for", () => {
  test.each([["probe"], ["doctor"]])(
    "%s fills in no variable and starts no program, and says which option allows it",
    async (command) => {
      const { path, got, started } = await writeGreedy();
      const { json, exitCode, stdout, stderr } = await runCliJson(command, "--mcp-json", path);
      expect(exitCode).toBe(1);
      const rows = command === "doctor" ? json.rows : json.flatMap((each: any) => each.rows);
      const said = rows.map(({ says }: { says: string }) => says).join("\n");
      expect(said.match(/--variable A_KEY_OF_THE_SHELL/g)).toHaveLength(2);
      expect(got).toContain("a-default");
      expect(JSON.stringify(got) + stdout + stderr).not.toContain("the-key-of-the-shell");
      expect(existsSync(started)).toBe(false);
    },
  );

  test("a program needs an option of its own, beside those of its variables", async () => {
    const { path, started } = await writeGreedy();
    const variable = ["--variable", "A_KEY_OF_THE_SHELL"];
    const { json } = await runCliJson("probe", path, "--watch", "0.1", ...variable);
    expect(json.at(-1).rows[0].says).toContain("--start");
    expect(existsSync(started)).toBe(false);
    await runCliJson("probe", path, "--watch", "0.1", ...variable, "--start");
    expect(existsSync(started)).toBe(true);
  });

  test.skipIf(findProgram("script") === undefined)(
    "a person is asked at a terminal, with hosts and without values",
    async () => {
      const { path, got, started } = await writeGreedy();
      const command = ["probe", path, "--watch", "0.1"];
      const no = await runAtTerminal(command, [["Allow all of it?", keys.enter]]);
      expect(no.exitCode).toBe(1);
      expect(no.screen).toContain("Nothing was read, started or sent.");
      expect(no.screen).toContain("greedy: A_KEY_OF_THE_SHELL goes to http://127.0.0.1");
      expect(no.screen).toContain("program: starts ");
      expect(existsSync(started) || got.length > 0).toBe(false);
      const yes = await runAtTerminal(command, [["Allow all of it?", `${keys.left}${keys.enter}`]]);
      expect(yes.unanswered).toEqual([]);
      expect(got).toContain("the-key-of-the-shell");
      expect(existsSync(started)).toBe(true);
      expect(no.screen + yes.screen).not.toContain("the-key-of-the-shell");
    },
  );

  test("the options are for a file alone", async () => {
    const seen = await runCli("probe", "https://mcp.example", "--start");
    expect(seen).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("of a file") });
  });
});

test("what an editor asks for is named, with what to write instead", async () => {
  const headers = { "x-key": "${input:notes-key}" };
  const path = writeFile({ servers: { notes: { url: "https://mcp.example", headers } } });
  const { json } = await runCliJson(...probe(path));
  expect(json[0].rows[0].says).toMatch(/input:notes-key.*in the place of an editor/);
});

const refusalOf = async (path: string) => (await runCli(...probe(path))).stderr;

test("what is no file, is too large or too deep is refused by name", async () => {
  const folder = dirname(writeFile({}));
  expect(await refusalOf(join(folder, "no-such.json"))).toContain("no file at this path");
  expect((await runCli("probe", "--mcp-json", folder)).stderr).toContain("no file at this path");
  expect(await refusalOf(writeFile(" ".repeat(10_000_001)))).toContain("more than 10 MB");
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  expect(await refusalOf(writeFile(deep))).toContain("deeper than 100 levels");
});

test.each([
  ["{", "no JSON"],
  [{ servers: [] }, "an object with an entry for each server"],
  [{ mcpServers: {} }, "mcpServers of the file must be an object"],
])("a file %j is said to be wrong", async (content, said) => {
  const seen = await runCli(...probe(writeFile(content)));
  expect(seen).toMatchObject({ exitCode: 1, stdout: "" });
  expect(seen.stderr).toContain(said);
});

test.each([
  [["probe"], "Say one: a URL"],
  [["probe", "mcp.json", "--call", "x"], "are for one server"],
  [["probe", "https://mcp.example", "--mcp-json", "mcp.json"], "Say one: a URL"],
])("%j is wrong usage", async (words, said) => {
  const seen = await runCli(...words);
  expect(seen).toMatchObject({ exitCode: 2, stdout: "" });
  expect(seen.stderr).toContain(said);
});
