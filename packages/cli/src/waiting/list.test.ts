import { operateStore } from "@durable-mcp/sessions/internal";
import { randomBytes } from "node:crypto";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";
import { encryptStore } from "@durable-mcp/core/sealing";
import { Command } from "commander";
import { afterEach, describe, expect, test, vi } from "vitest";
import { startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { countedStore } from "../../../ai-sdk/test/sign-in-application.ts";
import { alice, bob, callForText } from "../../../ai-sdk/test/step.ts";
import { runCli, runCliJson } from "../../test/run-cli.ts";
import { openFile, startApplication } from "../../test/store-of-an-application.ts";
import { chooseCalls } from "../store/look.ts";
import { withStore } from "../store/open-store.ts";

afterEach(() => vi.unstubAllEnvs());

type Wrap = (store: SessionStore) => SessionStore;

/** A shop whose calls wait in a store, for some agents. */
async function startWaiting(wrap: Wrap = (store) => store) {
  const { url } = await startAskingServer();
  const { store, address } = openFile();
  const sessionsOf = (agent?: string) =>
    createDurableSessions({
      connections: { shop: defineMcpClientConnection({ url, description: "-", waiting: true }) },
      ...{ store: wrap(store), onEvent: () => undefined },
      ...(agent !== undefined && { agent }),
    });
  const order = async (chat: string, { principal = alice, agent }: Whose = {}) => {
    const sessions = sessionsOf(agent);
    await sessions.run(chat, { principal }, async (run) =>
      callForText(await run.tools(), "shop__order", { item: "tea" }),
    );
    return sessions;
  };
  const list = async (...options: string[]) =>
    (await runCliJson("waiting", "list", "--store", address, ...options)).json.calls;
  return { store, address, order, list };
}
interface Whose {
  readonly principal?: typeof alice;
  readonly agent?: string;
}

describe("calls that wait", () => {
  test("one is found beside 200 that are over with as few operations as alone", async () => {
    const { store, address, order, list } = await startWaiting();
    const sessions = await order("chat");
    await sessions.admin.answer((await sessions.admin.waiting()).calls[0]!, yes, { by: "carol" });
    const { records } = await store.list({ limit: 100 });
    const { key, value, owner } = records.find((each) => each.key.includes("waiting/"))!;
    for (let n = 0; n < 199; n += 1) {
      const id = `over-${n}`;
      const other = JSON.stringify(JSON.parse(key).with(2, `waiting/${id}`));
      await store.put(other, { ...(value as object), id }, null, { owner });
    }
    await order("other chat");
    // What is left of a call that was deleted.
    const entry = (await store.list({ prefix: "due/", limit: 1 })).records[0]!;
    const left = { ...(entry.value as object), id: "gone" };
    await store.put(`${entry.key}0`, left, null, { owner: entry.owner });
    const operations: string[] = [];
    const found = await withStore({ store: address }, async (opened) => {
      const counted = operateStore(countedStore(opened.store, operations));
      return await chooseCalls({ ...opened, records: counted }, new Command(), ({ calls }) => [
        ...calls,
      ]);
    });
    expect(found).toMatchObject([{ call: { state: "waiting" } }]);
    expect(operations).toEqual(["list", "getMany"]);
    expect(await list()).toMatchObject([{ row: found[0]!.row }]);
    expect(await list("--all")).toHaveLength(201);
  });

  test("those of all agents and users are listed, under the names of --all", async () => {
    const { order, list } = await startWaiting();
    await order("chat", { agent: "a/b" });
    await order("chat", { principal: bob, agent: 'say "c"' });
    await order("chat");
    const calls = await list();
    expect(new Set(calls.map(({ agent }: { agent: string }) => agent))).toEqual(
      new Set(["a/b", 'say "c"', "default"]),
    );
    expect(await list("--all")).toEqual(expect.arrayContaining(calls));
    expect(await list("--agent", "a/b")).toHaveLength(1);
    expect(await list("--all", "--agent", "a/b")).toEqual(await list("--agent", "a/b"));
    expect(await list("--user", "bob", "--issuer", "https://idp.test")).toHaveLength(1);
    expect(await list("--agent-session", "chat")).toHaveLength(3);
  });

  test("one that an earlier release has left is in --all, and is taken back by its row", async () => {
    const { store, address, order, list } = await startWaiting();
    await order("chat");
    const { records } = await store.list({ prefix: "due/", limit: 100 });
    for (const { key } of records) await store.delete(key);
    const seen = await runCli("waiting", "list", "--store", address);
    expect(seen.stdout).toContain(
      "Nothing waits in the SQLite table mcp_sessions. --all also shows",
    );
    const [{ row, state }] = await list("--all");
    expect(state).toBe("waiting");
    const taken = await runCli("waiting", "withdraw", row, "--yes", "--store", address);
    expect(taken).toMatchObject({ exitCode: 0 });
  });

  test("those of an owner who has only sessions are none", async () => {
    const { address } = await startApplication();
    const { json } = await runCliJson("sessions", "list", "--store", address);
    const ofOwner = ["--store", address, "--owner", json.sessions[0].owner];
    const seen = await runCliJson("waiting", "list", ...ofOwner);
    expect(seen).toMatchObject({ exitCode: 0, json: { calls: [] } });
  });

  test("one of a later release is shown as such", async () => {
    const { store, order, list } = await startWaiting();
    await order("chat");
    const { records } = await store.list({ limit: 100 });
    const { key, value, revision, owner } = records.find((each) => each.key.includes("waiting/"))!;
    await store.put(key, { ...(value as object), version: 99 }, revision, { owner });
    expect(await list()).toMatchObject([{ state: "unreadable" }]);
  });

  test("an encrypted store shows them with the keys that are given", async () => {
    const [current, fingerprintKey] = [0, 1].map(() => randomBytes(32).toString("base64"));
    const keys = { current: current! };
    const { order, list } = await startWaiting((plain) =>
      encryptStore(plain, { keys, fingerprintKey: fingerprintKey! }),
    );
    await order("chat");
    vi.stubEnv("KEY", current);
    vi.stubEnv("MARK", fingerprintKey);
    vi.stubEnv("OTHER", randomBytes(32).toString("base64"));
    expect(await list()).toMatchObject([{ state: "sealed" }]);
    expect(await list("--key-env", "OTHER")).toMatchObject([{ state: "sealed" }]);
    const open = [{ state: "waiting", connection: "shop", tool: "order" }];
    expect(await list("--key-env", "KEY")).toMatchObject(open);
    const both = ["--key-env", "KEY", "--fingerprint-key-env", "MARK"];
    expect(await list(...both)).toMatchObject(open);
  });
});
