import { afterEach, describe, expect, test, vi } from "vitest";
import { startHttpServer } from "../../test/http-server.ts";
import { startMcpServer } from "../../test/mcp-server.ts";
import { shortenLimits } from "../../test/short-limits.ts";
import { saveSession, startStep } from "../../test/step.ts";
import { innerFetch, lastFetch } from "./last-fetch.ts";

afterEach(() => void vi.unstubAllGlobals());

/** A step whose requests the application's own fetch sends, and the bodies that this fetch got. */
async function startOnDeno(wrap = (fetch: typeof globalThis.fetch) => fetch) {
  vi.stubGlobal("Deno", {});
  const server = await startMcpServer();
  const bodies: unknown[] = [];
  const sent = wrap(async (input, init) => {
    bodies.push(init?.body);
    return await globalThis.fetch(input, init);
  });
  const snapshot = await saveSession(server);
  return { ...startStep(server, { snapshot, fetch: sent }), server, bodies };
}

// `npm run smoke -- core` sends to such a server from Deno itself.
describe("on Deno, a body", () => {
  test("is a Blob, and arrives as it was with its type", async () => {
    const { client, server, bodies } = await startOnDeno();
    await client.request("tools/call", { name: "ä" });
    expect(bodies).toEqual([expect.any(Blob)]);
    expect(server.requests[0]?.message.params).toEqual({ name: "ä" });
    expect(server.requests[0]?.headers["content-type"]).toBe("application/json");
  });

  test("stays a text for a fetch of ours beneath, which reads it", async () => {
    const { client, bodies } = await startOnDeno(innerFetch);
    await client.request("tools/call", {});
    expect(bodies).toEqual([expect.any(String)]);
  });

  test("of a Request and of a form is one too, and a stream stays", async () => {
    vi.stubGlobal("Deno", {});
    const seen: (RequestInit["body"] | undefined)[] = [];
    const fetch = lastFetch(async (_, init) => {
      seen.push(init?.body);
      return new Response();
    });
    const url = "http://127.0.0.1/";
    const stream = new ReadableStream();
    await fetch(new Request(url, { method: "POST", body: "text" }));
    await fetch(url, { method: "POST", body: new URLSearchParams({ a: "1" }) });
    await fetch(url, { method: "POST", body: stream });
    await fetch(url);
    expect(await (seen[0] as Blob).text()).toBe("text");
    expect(await (seen[1] as Blob).text()).toBe("a=1");
    expect(seen.slice(2)).toEqual([stream, undefined]);
  });
});

const own: typeof fetch = async () => new Response();

test("elsewhere a fetch of the application gets what the client sent", () => {
  expect(lastFetch(own, 900_000)).toBe(own);
});

/** Is silent for a second before the headers, and after them. */
const slow = () =>
  startHttpServer((_, response) => {
    setTimeout(() => response.writeHead(200).flushHeaders(), 1_000);
    setTimeout(() => response.end("late"), 2_000);
  });

describe("Node's limits for a silent answer", () => {
  test("do not end one that the connection waits for longer", async () => {
    const { origin } = await slow();
    using _ = shortenLimits();
    const cut = await lastFetch(undefined, 300_000)(origin).catch((error: unknown) => error);
    expect(cut).toMatchObject({ cause: { code: "UND_ERR_HEADERS_TIMEOUT" } });
    const answer = await lastFetch(undefined, 300_001)(origin);
    expect(await answer.text()).toBe("late");
  });
});
