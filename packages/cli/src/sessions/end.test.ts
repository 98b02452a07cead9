import { randomBytes } from "node:crypto";
import { openSessionFetch } from "@durable-mcp/ai-sdk";
import { encryptStore } from "@durable-mcp/core/sealing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice } from "../../../ai-sdk/test/step.ts";
import { createRpcClient } from "../../../core/test/rpc-client.ts";
import { runCli, runCliJson } from "../../test/run-cli.ts";
import {
  addNote,
  openFile,
  startApplication,
  startShop,
} from "../../test/store-of-an-application.ts";

afterEach(() => vi.unstubAllEnvs());

/** An application, and how a command is run on its store. */
async function startEnding(...options: Parameters<typeof startApplication>) {
  const application = await startApplication(...options);
  const { address, origin } = application;
  const inStore = ["--store", address];
  const { json } = await runCliJson("sessions", "list", ...inStore);
  const rows: string[] = json.sessions.map(({ row }: { row: string }) => row);
  return {
    ...application,
    ...{ rows, inStore, told: [...inStore, "--yes", "--server", origin] },
    left: async () =>
      (await runCliJson("sessions", "list", ...inStore)).json.sessions.map(
        ({ row }: { row: string }) => row,
      ),
  };
}

describe("sessions end", () => {
  test("ends a session on its server, and removes its record", async () => {
    const { rows, told, server, left } = await startEnding();
    const seen = await runCliJson("sessions", "end", rows[0]!, ...told);
    expect(seen.exitCode).toBe(0);
    expect(seen.json.sessions).toEqual([
      { row: rows[0], connection: "notes", ended: true, removed: true },
    ]);
    expect(server.log).toEqual(["DELETE"]);
    expect(server.liveSessions()).toBe(1);
    expect(await left()).toEqual([rows[1]]);
  });

  test("sees and ends the session of a fetch, whose connection has the address for its name", async () => {
    const { store, address } = openFile();
    const { url, origin, ...server } = await startNotebookServer();
    const own = await openSessionFetch({ url, store, session: "chat", principal: alice });
    await createRpcClient(own.fetch, url).request("ping");
    await own.close();
    const inStore = ["--store", address];
    const { json } = await runCliJson("sessions", "list", ...inStore);
    expect(json.sessions).toMatchObject([{ connection: url, kind: "session" }]);
    const [{ row }] = json.sessions;
    await runCliJson("sessions", "end", row, ...inStore, "--yes", "--server", origin);
    expect(server.liveSessions()).toBe(0);
    expect((await runCliJson("sessions", "list", ...inStore)).json.sessions).toEqual([]);
  });

  test("shows what would end, and does nothing, while nobody can be asked", async () => {
    const { rows, inStore, server, left, origin } = await startEnding();
    const unasked = await runCli("sessions", "end", rows[0]!, ...inStore, "--server", origin);
    expect(unasked).toMatchObject({ exitCode: 2, stdout: "" });
    expect(unasked.stderr).toContain(rows[0]);
    expect(unasked.stderr).toContain("--yes");
    expect(server.log).toEqual([]);
    expect(await left()).toHaveLength(2);
  });

  test("sends a session to no server that the command line does not name", async () => {
    const { rows, inStore, server, left, origin } = await startEnding();
    for (const others of [[], ["--server", "https://other.example"]]) {
      const unnamed = await runCli("sessions", "end", rows[0]!, ...inStore, "--yes", ...others);
      expect(unnamed).toMatchObject({ exitCode: 2 });
      expect(unnamed.stderr).toContain(`--server is missing for ${origin}`);
    }
    expect(server.log).toEqual([]);
    expect(await left()).toHaveLength(2);
  });

  test("sends the bearer token and headers of the environment, and shows neither", async () => {
    const { rows, told, server } = await startEnding();
    const headers: unknown[] = [];
    server.intercept(({ headers: { authorization, "x-tenant": tenant } }) => {
      headers.push({ authorization, tenant });
      return "next";
    });
    vi.stubEnv("DURABLE_MCP_BEARER", "a-secret-token");
    vi.stubEnv("TENANT", "a-secret-tenant");
    const seen = await runCli(
      "sessions",
      "end",
      rows[0]!,
      ...told,
      "--header-env",
      "x-tenant=TENANT",
    );
    expect(headers).toEqual([
      { authorization: "Bearer a-secret-token", tenant: "a-secret-tenant" },
    ]);
    expect(seen.stdout + seen.stderr).not.toContain("a-secret");
  });

  test("says when the server could not be told, and keeps the record", async () => {
    const { rows, told, server, left } = await startEnding();
    server.intercept((_, response) => void response.writeHead(401).end());
    const seen = await runCli("sessions", "end", rows[0]!, ...told);
    expect(seen).toMatchObject({ exitCode: 1 });
    expect(seen.stdout).toContain("refused");
    expect(seen.stdout).toContain("401");
    expect(await left()).toHaveLength(2);
  });

  test("removes records alone when that is asked for", async () => {
    const { rows, inStore, server, left } = await startEnding();
    const only = ["--records-only", "--yes"];
    const seen = await runCli("sessions", "end", rows[0]!, ...inStore, ...only);
    expect(seen).toMatchObject({ exitCode: 0 });
    expect(seen.stdout).toContain("its server was not told");
    expect(server.log).toEqual([]);
    expect(await left()).toEqual([rows[1]]);
  });

  test("ends shared and named sessions by their row", async () => {
    const { rows, told, sessions, server, left } = await startEnding(undefined, {
      session: { shared: "inventory" },
    });
    await sessions.run("chat-of-alice", { principal: alice }, async (run) => {
      await run.named.create("research");
      await run.named.run("research", async (own) => await addNote(await own.tools(), "d"));
    });
    const inStore = told.slice(0, 2);
    const { json } = await runCliJson("sessions", "list", ...inStore);
    expect(json.sessions).toHaveLength(rows.length + 1);
    const rowOf = (field: string, value: string): string =>
      json.sessions.find((each: Record<string, string>) => each[field] === value).row;
    const both = [rowOf("name", "research"), rowOf("shared", "inventory")];
    const table = await runCli("sessions", "list", ...inStore);
    expect(table.stdout).toContain("notes / research");
    expect(table.stdout).toMatch(/shared.*notes \/ inventory/);
    server.requests.length = 0;
    expect(await runCli("sessions", "end", ...both, ...told)).toMatchObject({ exitCode: 0 });
    expect(server.log).toEqual(["DELETE", "DELETE"]);
    expect(await left()).toHaveLength(rows.length - 1);
  });

  test.each([
    [["--agent-session", "chat-of-alice"], 1],
    [["--user", "alice", "--issuer", "https://idp.test"], 1],
    [["--user", "bob", "--issuer", "https://idp.test"], 0],
  ])("of %j ends all, and deletes their waiting calls", async (chosen, deleted) => {
    const { address, origin, sessions } = await startShop();
    const told = ["--store", address, "--yes", "--server", origin];
    const seen = await runCliJson("sessions", "end", ...chosen, ...told);
    expect(seen.json.waitingCalls).toBe(deleted);
    const left = await sessions.waiting("chat-of-alice", { principal: alice });
    expect(left).toHaveLength(1 - deleted);
  });

  test("needs to be told what to end", async () => {
    const { told, rows, left } = await startEnding();
    for (const wrong of [[], [rows[0]!, "--connection", "notes"]]) {
      expect(await runCli("sessions", "end", ...wrong, ...told)).toMatchObject({ exitCode: 2 });
    }
    expect(await runCli("sessions", "end", "zzzzzz", ...told)).toMatchObject({ exitCode: 1 });
    expect(await left()).toHaveLength(2);
  });

  test("a store under fingerprints needs its key, and then ends on the server", async () => {
    const [current, fingerprintKey] = [0, 1].map(() => randomBytes(32).toString("base64")) as [
      string,
      string,
    ];
    const { address, origin, server } = await startApplication((plain) =>
      encryptStore(plain, { keys: { current }, fingerprintKey }),
    );
    vi.stubEnv("KEY", current);
    vi.stubEnv("MARK", fingerprintKey);
    vi.stubEnv("OTHER", randomBytes(32).toString("base64"));
    const told = ["--store", address, "--yes", "--server", origin, "--connection", "notes"];
    const sealed = await runCli("sessions", "end", ...told);
    expect(sealed).toMatchObject({ exitCode: 2 });
    expect(sealed.stderr).toContain("--key-env");
    for (const other of [[], ["--fingerprint-key-env", "OTHER"]]) {
      const wrong = await runCli("sessions", "end", ...told, "--key-env", "KEY", ...other);
      expect(wrong).toMatchObject({ exitCode: 2 });
      expect(wrong.stderr).toContain("--fingerprint-key-env");
    }
    expect(server.log).toEqual([]);
    const opened = ["--key-env", "KEY", "--fingerprint-key-env", "MARK"];
    const { json } = await runCliJson("sessions", "list", "--store", address, ...opened);
    const { row } = json.sessions[0];
    expect(await runCli("sessions", "end", row, ...told.slice(0, -2), ...opened)).toMatchObject({
      exitCode: 0,
    });
    expect(server.log).toEqual(["DELETE"]);
    // Without a key, what is sealed can be removed alone.
    const only = ["--store", address, "--yes", "--records-only", "--connection", "notes"];
    const removed = await runCli("sessions", "end", ...only);
    expect(removed).toMatchObject({ exitCode: 0 });
    expect(removed.stdout).toContain("its server was not told");
    const left = await runCliJson("sessions", "list", "--store", address);
    expect(left.json.sessions).toEqual([]);
  });
});

describe("sessions sweep", () => {
  const hour = 3_600_000;

  test("ends what nobody has used for so long, and leaves the rest", async () => {
    let time = Date.now() - 2 * hour;
    const now = () => time;
    const { sessions, server, told, rows, left } = await startEnding(undefined, { now });
    time = Date.now();
    await sessions.run("chat-of-alice", { principal: alice }, async (run) =>
      addNote(await run.tools(), "c"),
    );
    server.requests.length = 0;
    const none = await runCliJson("sessions", "sweep", "--idle", "3h", ...told);
    expect(none.json).toMatchObject({ sessions: [], waitingCalls: 0 });
    const swept = await runCliJson("sessions", "sweep", "--idle", "1h", ...told);
    expect(swept).toMatchObject({ exitCode: 0, json: { sessions: [{ ended: true }] } });
    expect(server.log).toEqual(["DELETE"]);
    expect(await left()).toHaveLength(rows.length - 1);
  });

  test("refuses a time in which a session may be in use", async () => {
    const { told } = await startEnding();
    const short = await runCli("sessions", "sweep", "--idle", "10m", ...told);
    expect(short).toMatchObject({ exitCode: 2 });
    expect(short.stderr).toContain("--idle must be 18 min or more");
    const longer = ["--touch-interval", "10m"];
    const rare = await runCli("sessions", "sweep", "--idle", "2h", ...longer, ...told);
    expect(rare.stderr).toContain("--idle must be 3 h or more");
    expect(await runCli("sessions", "sweep", ...told)).toMatchObject({ exitCode: 2 });
  });
});
