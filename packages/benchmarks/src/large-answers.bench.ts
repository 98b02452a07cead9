import { createMCPClient } from "@ai-sdk/mcp";
import { describe, expect, test } from "vitest";
import { framings } from "./answers.ts";
import { createResumedFetch } from "./session.ts";
import { measureSideBySide } from "./side-by-side.ts";
import { startMcpServer } from "./start-mcp-server.ts";
import { toolResultNames } from "./tool-results.ts";

const size = 1_000_000;
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 100);
const origin = await startMcpServer();
const rows: unknown[]=[];

const readers = {
  async "fetch and text()"(url: string, fetch: typeof globalThis.fetch) {
    let id = 0;
    return async () => {
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: (id += 1),
          method: "tools/call",
          params: { name: "read", arguments: {} },
        }),
      });
      return await response.text();
    };
  },
  async "@ai-sdk/mcp callTool"(url: string, fetch: typeof globalThis.fetch) {
    const client = await createMCPClient({ transport: { type: "http", url, fetch } });
    return () => client.callTool({ name: "read", arguments: {} });
  },
};

describe.each(Object.entries(readers))("%s", (reader, createReader) => {
  describe.each(framings)("%s", (framing) => {
    test.each(toolResultNames)("%s", async (result) => {
      const url = `${origin}/${framing}/${encodeURI(result)}/${size}`;
      const plain = await createReader(url, fetch);
      const session = await createReader(url, createResumedFetch(url));
      expect(JSON.stringify(await session()).length).toEqual(JSON.stringify(await plain()).length);
      const m = await measureSideBySide(
        [
          { name: "plain", run: plain },
          { name: "session", run: session },
        ],
        rounds,
      );
      console.log(reader, framing, result, m[0]!.medianMs.toFixed(2), m[1]!.medianMs.toFixed(2), m[1]!.extraMs.toFixed(2), m[1]!.ratio.toFixed(3));
      rows.push(m);
    });
  });
});
