import { expect, test } from "vitest";
import { runServerSuite } from "./run-suite.ts";
import { startConformanceServer } from "./start-server.ts";

test("the suite goes red on a server that checks no hosts", async () => {
  const server = await startConformanceServer("--any-host");
  try {
    const { failed } = await runServerSuite(server.url, { revision: "2025-11-25" });
    expect(failed).toEqual(["dns-rebinding-protection"]);
  } finally {
    await server.stop();
  }
});
