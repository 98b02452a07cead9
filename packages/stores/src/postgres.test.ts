import { testSessionStore } from "@durable-mcp/core/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import openPostgres from "../test/open-postgres.ts";
import { postgresUnavailable, startPostgres } from "../test/postgres-server.ts";
import type { DatabaseServer } from "../test/start-server.ts";

if (postgresUnavailable !== undefined) console.warn(`skipped: postgres: ${postgresUnavailable}`);

describe.skipIf(postgresUnavailable !== undefined)("on a real server", () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.remove());

  describe("the suite for stores", () => {
    testSessionStore({
      test,
      open: () => openPostgres(server.port),
      processes: {
        module: new URL("../test/open-postgres.ts", import.meta.url),
        data: () => server.port,
        execArgv: ["--conditions=@durable-mcp/source"],
      },
      server: { kill: () => server.kill(), start: () => server.start() },
    });
  });
});
