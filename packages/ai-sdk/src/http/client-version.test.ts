import type { MCPClientConfig } from "@ai-sdk/mcp";
import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";
import { startNotebookServer } from "../../test/notebook-server.ts";
import { callForText, startApplication } from "../../test/step.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";

const installed = { userAgent: "" };
beforeEach(() => {
  installed.userAgent = "";
});

// Files share their modules: what imports the client is loaded again, before and after.
vi.hoisted(() => vi.resetModules());
afterAll(() => {
  vi.doUnmock("@ai-sdk/mcp");
  vi.resetModules();
});

/** The client as it is, under the user agent of another version. */
vi.mock("@ai-sdk/mcp", async (importOriginal) => {
  const original = await importOriginal<typeof import("@ai-sdk/mcp")>();
  const createMCPClient = (config: MCPClientConfig) => {
    const transport = config.transport as Extract<MCPClientConfig["transport"], { type: string }>;
    const { fetch = globalThis.fetch } = transport;
    const fetchAsOther: typeof globalThis.fetch = (input, init) => {
      const headers = new Headers(init?.headers);
      if (installed.userAgent !== "") headers.set("user-agent", installed.userAgent);
      return fetch(input, { ...init, headers });
    };
    return original.createMCPClient({
      ...config,
      transport: { ...transport, fetch: fetchAsOther },
    });
  };
  return { ...original, createMCPClient };
});

const event = { type: "peer-version", connection: "notes", package: "@ai-sdk/mcp" };

const list = async (registry: any) => {
  expect(await callForText(await registry.tools(), "notes__list_notes")).toBe("");
};

async function start(session: "stateful" | "stateless") {
  const { url } = await startNotebookServer();
  const notes = defineMcpClientConnection({ url, description: "A notebook.", session });
  const application = startApplication({ notes });
  const versions = () => application.events.splice(0).filter(({ type }) => type === event.type);
  return { step: (state: object) => application.step(state, list), versions };
}

describe.each(["stateful", "stateless"] as const)("peer-version, %s", (session) => {
  test.each(["1.0.101", "2.0.98", "3.0.0"])("is reported once a step: %s", async (version) => {
    const { step, versions } = await start(session);
    installed.userAgent = `my-app/1.0 ai-sdk/${version} runtime/node.js/24`;
    const saved = await step({});
    const expected = [{ ...event, version, tested: ">=2.0.99 <3" }];
    expect(versions()).toEqual(expected);
    await step(saved);
    expect(versions()).toEqual(expected);
  });

  test("is reported without a version that the client does not say", async () => {
    const { step, versions } = await start(session);
    installed.userAgent = "ai-sdk/0.0.0-test runtime/node.js/24";
    await step({});
    expect(versions()).toEqual([{ ...event, version: "unknown", tested: ">=2.0.99 <3" }]);
  });

  test.each(["", "ai-sdk/2.0.99", "ai-sdk/2.1.0", "node", "other-sdk/3.0.0", "ai-sdk/next"])(
    "is not reported for %j",
    async (userAgent) => {
      const { step, versions } = await start(session);
      installed.userAgent = userAgent;
      await step({});
      expect(versions()).toEqual([]);
    },
  );
});
