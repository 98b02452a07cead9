import { existsSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, test, vi } from "vitest";
import { runCli } from "../../test/run-cli.ts";
import { loadDriver } from "./open-place.ts";
import { typed } from "./store-options.ts";
import { openFile, temporaryFile } from "../../test/store-of-an-application.ts";

afterEach(() => vi.unstubAllEnvs());

const list = (...options: string[]) => runCli("sessions", "list", ...options);

describe("the store of a command", () => {
  test("comes from the environment when the command line has none", async () => {
    const { store, address } = openFile();
    await store.createTables();
    const none = await list();
    expect(none).toMatchObject({ exitCode: 2, stdout: "" });
    expect(none.stderr).toContain("--store is missing: give it, or set DURABLE_MCP_STORE");
    vi.stubEnv("DURABLE_MCP_STORE", address);
    expect(await list()).toMatchObject({ exitCode: 0 });
  });

  test("is no file that the command makes", async () => {
    const path = temporaryFile("sessions.db");
    const seen = await list("--store", `file:${path}`);
    expect(seen).toMatchObject({ exitCode: 1, stdout: "" });
    expect(seen.stderr).toContain("--store: there is no such file");
    expect(existsSync(path)).toBe(false);
  });

  test("is no other database, which stays as it is", async () => {
    const path = temporaryFile("other.db");
    const database = new DatabaseSync(path);
    database.exec("CREATE TABLE orders (id)");
    const seen = await list("--store", `sqlite:${path}`);
    expect(seen).toMatchObject({ exitCode: 1 });
    expect(seen.stderr).toContain("--table: the database has no table mcp_sessions");
    expect(database.prepare("SELECT name FROM sqlite_master").all()).toHaveLength(1);
    database.close();
    writeFileSync(
      path,
      "This is no database, but a text that is long enough to be one. ".repeat(20),
    );
    const text = await list("--store", `sqlite:${path}`);
    expect(text.stderr).toContain("--store: the file is no SQLite database");
  });

  test.each([
    [
      "mysql://root:s3cret@db/agents",
      "--store must begin with file:, postgres://, redis:// or libsql://",
    ],
    ["sessions.db", "--store must begin with file:"],
    ["postgres://me:s3cret/%@:x", "--store is no URL"],
    ["redis://:s3cret@host:port", "--store is no URL"],
    ["libsql://h%@?authToken=s3cret", "--store is no URL"],
    ["sqlite:", "such as file:sessions.db"],
  ])("of another form is refused, and not repeated: %s", async (address, message) => {
    const seen = await list("--store", address);
    expect(seen).toMatchObject({ exitCode: 2, stdout: "" });
    expect(seen.stderr).toContain(message);
    expect(seen.stderr).not.toContain("s3cret");
  });

  test.each([
    ["postgres://me:s3cret@127.0.0.1:1/agents", "PostgreSQL"],
    ["redis://:s3cret@127.0.0.1:1", "Redis"],
  ])("that does not answer is told so, without its password: %s", async (address, name) => {
    const seen = await list("--store", address);
    expect(seen).toMatchObject({ exitCode: 1, stdout: "" });
    expect(seen.stderr).toContain(`--store: The ${name} store failed`);
    expect(seen.stderr).toContain("nothing listens at its address");
    expect(seen.stderr).not.toContain("s3cret");
  });

  test.each([
    ["postgres://me:s3cret@db/agents", "…"],
    ["redis://:s3cret@db", "…"],
    ["postgres://db/agents?password=s3cret", "…"],
    ["postgres://me@db:5432/agents", "postgres://me@db:5432/agents"],
    ["sqlite:it's here.db", `'sqlite:it'\\''s here.db'`],
  ])("is repeated in the next command to type, but for a password: %s", (store, shown) => {
    const options = { store, keyEnv: "KEY", headerEnv: { a: "A" }, json: true };
    const line = typed(["sessions", "end", "4dfm"], options, ["http://a$(b).example"]);
    const flags = `--store ${shown} --key-env KEY --header-env a=A`;
    expect(line).toBe(`durable-mcp sessions end 4dfm ${flags} --server 'http://a$(b).example'`);
  });

  test("says how to get a driver that is missing", async () => {
    const load = loadDriver("no-such-driver" as "pg", "PostgreSQL");
    await expect(load).rejects.toThrow(
      /driver for PostgreSQL is missing.*npm install no-such-driver/,
    );
  });

  test("refuses options of other stores", async () => {
    const seen = await list("--store", "redis://localhost", "--table", "x");
    expect(seen).toMatchObject({ exitCode: 2 });
    expect(seen.stderr).toContain("--table: Redis has none");
  });
});
