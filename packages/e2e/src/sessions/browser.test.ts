import { afterAll, beforeAll, describe, test } from "vitest";
import { type ClientName, clientNames } from "../clients/index.ts";
import type { TestServer } from "../servers/server-process.ts";
import { isMatrix } from "../matrix/pairs.ts";
import { skipReason } from "../stateful/skip-reason.ts";
import { playwright } from "../stateful/stateful-servers.ts";
import { expectOneNewSession, type RestartedServer, restartUnder } from "./restarted-server.ts";
import { expectOneSessionOverProcesses } from "./three-processes.ts";

/** A session is a browser here, so in `npm test` only one client has some. */
const first: ClientName = "@ai-sdk/mcp 1";
const others = clientNames.filter((name) => name !== first);
// A browser is slow: CI has every second one.
const isInCi = process.env["CI"] === "true";
const inMatrix = others.filter((_, index) => !isInCi || index % 2 === 0);
const clients = isMatrix ? inMatrix : [first];

describe.skipIf(skipReason(playwright))("@playwright/mcp", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await playwright.start();
  }, 30_000);
  afterAll(() => server?.stop());

  test.each(clients)(
    "%s keeps one session over three processes, one HTTP request per resumed call (S11, S12, S52, S56)",
    { timeout: 60_000 },
    async (client) => {
      await expectOneSessionOverProcesses(playwright, server.url, client);
    },
  );

  describe("after a restart", () => {
    let restarted: RestartedServer;
    beforeAll(async () => {
      restarted = await restartUnder(playwright, server, clients);
    }, 90_000);
    afterAll(() => restarted?.[Symbol.asyncDispose]());

    test.each(clients)(
      "%s starts one new session for all calls in flight (S5, S58, S59)",
      { timeout: 60_000 },
      async (client) => {
        await expectOneNewSession(restarted, client);
      },
    );
  });
});
