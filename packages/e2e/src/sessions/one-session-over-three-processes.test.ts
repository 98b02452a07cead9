import { afterAll, beforeAll, describe, test } from "vitest";
import type { TestServer } from "../servers/server-process.ts";
import { withClients } from "../matrix/pairs.ts";
import { serversWithoutBrowser } from "../stateful/stateful-servers.ts";
import { expectOneSessionOverProcesses } from "./three-processes.ts";

const startTimeoutMs = 30_000;
const testTimeoutMs = 60_000;

describe.each(withClients(serversWithoutBrowser, { count: 4, third: 0 }))("$name", (stateful) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await stateful.start();
  }, startTimeoutMs);
  afterAll(() => server?.stop());

  test.each(stateful.clients)(
    "%s keeps one session over three processes, one HTTP request per resumed call (S11, S12, S52, S56)",
    { timeout: testTimeoutMs },
    async (client) => {
      await expectOneSessionOverProcesses(stateful, server.url, client);
    },
  );
});
