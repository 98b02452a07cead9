import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import { sendText, startMcpServer } from "../../test/mcp-server.ts";
import { startLostStep, startStep } from "../../test/step.ts";
import type { AroundRecovery, RecoveryOutcome } from "../session/session-fetch-options.ts";

/** Notes how each recovery ended, with all that the observer is given. */
function watchRecoveries() {
  const recoveries: { outcome?: RecoveryOutcome; error?: unknown }[] = [];
  const around: AroundRecovery = async (recover) => {
    const recovery: (typeof recoveries)[number] = {};
    recoveries.push(recovery);
    try {
      recovery.outcome = await recover();
    } catch (error) {
      recovery.error = error;
      throw error;
    }
  };
  return { recoveries, around };
}

describe("recovery.around", () => {
  test("runs once around the recovery that twenty requests wait for", async () => {
    const { recoveries, around } = watchRecoveries();
    const { client, server, events } = await startLostStep({ recovery: { around } });
    const calls = Array.from({ length: 20 }, (_, id) => client.request("tools/call", {}, { id }));
    for (const answer of await Promise.all(calls)) expect(answer).toHaveProperty("result");
    expect(recoveries).toEqual([{ outcome: {} }]);
    expect(events.map(({ type }) => type)).toEqual(["resumed", "lost", "recovered"]);
    expect(server.log.filter((entry) => entry === "POST initialize")).toHaveLength(1);
    expect(JSON.stringify(recoveries)).not.toContain("secret-session");
  });

  test("runs in the asynchronous context of the request that met the loss", async () => {
    const requests = new AsyncLocalStorage<string>();
    const contexts: unknown[] = [];
    const { client } = await startLostStep({
      recovery: {
        around(recover) {
          contexts.push(requests.getStore());
          return recover();
        },
      },
    });
    await requests.run("the call", () => client.request("tools/call", {}));
    expect(contexts).toEqual(["the call"]);
  });

  test("does not run for the first session, nor for a resumed one", async () => {
    const { recoveries, around } = watchRecoveries();
    const server = await startMcpServer();
    const first = startStep(server, { recovery: { around } });
    await first.client.handshake();
    const next = startStep(server, { snapshot: first.slot.snapshot!, recovery: { around } });
    await next.client.request("tools/call", {});
    expect(recoveries).toEqual([]);
  });

  test("does not run when a lost session is not to be replaced", async () => {
    const { recoveries, around } = watchRecoveries();
    const { client } = await startLostStep({ recovery: { around, onLoss: "report" } });
    const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
    await expect(client.request("tools/call", {})).rejects.toMatchObject({ code: "SESSION_LOST" });
    await expect(client.post(initialized)).rejects.toMatchObject({ code: "SESSION_LOST" });
    expect(recoveries).toEqual([]);
  });

  test("is told the status of a refused recovery, and runs again for the next one", async () => {
    const { recoveries, around } = watchRecoveries();
    const { client, server } = await startLostStep({ recovery: { around } });
    server.use(({ message }, response, next) =>
      message?.method === "initialize" ? sendText(response, 400, "Out of order") : next(),
    );
    await expect(client.request("tools/call", {})).rejects.toMatchObject({ code: "SESSION_LOST" });
    server.use((_request, _response, next) => next());
    expect(await client.request("tools/call", {})).toHaveProperty("result");
    expect(recoveries).toEqual([{ outcome: { status: 400 } }, { outcome: {} }]);
  });

  test("sees a recovery fail, as the request does", async () => {
    const { recoveries, around } = watchRecoveries();
    const { client } = await startLostStep({
      recovery: { around },
      onStart: () => Promise.reject(new Error("Nothing to prepare with.")),
    });
    const error: unknown = await client
      .request("tools/call", {})
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ cause: { message: "Nothing to prepare with." } });
    expect(recoveries).toEqual([{ error }]);
  });

  test.each<[string, AroundRecovery]>([
    ["throws before", () => Promise.reject(new Error("observer"))],
    [
      "throws afterwards",
      async (recover) => {
        await recover();
        throw new Error("observer");
      },
    ],
    ["never calls it", () => Promise.resolve()],
    ["calls it twice", (recover) => Promise.all([recover(), recover()])],
  ])("changes nothing when it %s", async (_, around) => {
    const { client, server } = await startLostStep({ recovery: { around } });
    expect(await client.request("tools/call", {})).toHaveProperty("result");
    expect(server.log.filter((entry) => entry === "POST initialize")).toHaveLength(1);
  });
});
