import { describe, expect, test } from "vitest";
import { createModernClient, sqlTool, startModernServer } from "../../test/memory-server.ts";
import { modernStep, probeListAndCall, startMemoryStep } from "../../test/memory-step.ts";
import { sendJson } from "../../test/mcp-server.ts";

const refused = { type: "discarded", reason: "refused" };
const revision = "2026-07-28";

/** A later step whose client has discovered and listed, from what is kept. */
async function startLaterStep(now = Date.now) {
  const server = await startModernServer();
  const first = startMemoryStep(server);
  const own = { headers: { "mcp-param-region": "eu" } };
  await first.modern.request("server/discover");
  await first.modern.list();
  const step = startMemoryStep(server, first.save(), { now });
  await step.modern.request("server/discover");
  await step.modern.list();
  server.takeLog();
  return { ...step, server, own };
}

type Server = Awaited<ReturnType<typeof startModernServer>>;

/** Refuses requests of a method with a JSON-RPC error under HTTP 400, so many times. */
function refuse(
  server: Server,
  method: string,
  code: number,
  data?: object,
  times = Infinity,
): void {
  let left = times;
  server.state.before = ({ message }, response) => {
    if (message.method !== method || left === 0) return false;
    left -= 1;
    const error = { code, message: "no", ...(data && { data }) };
    sendJson(response, 400, { jsonrpc: "2.0", id: message.id, error });
    return true;
  };
}

test("kept definitions supply the headers that the client does not set", async () => {
  const { modern, server, own } = await startLaterStep();
  expect(await modern.call()).toMatchObject({ result: { isError: false } });
  expect(await modern.call("sql", "eu", own)).toMatchObject({ result: { isError: false } });
  expect(server.requests.map(({ headers }) => headers["mcp-param-region"])).toEqual(["eu", "eu"]);
});

describe("after -32020", () => {
  test("lists again, and sends the call once more with the headers of the new definition", async () => {
    const { modern, server, own, events, slot } = await startLaterStep();
    server.state.pages = [[sqlTool("Zone")]];
    expect(await modern.call("sql", "eu", own)).toMatchObject({ result: { isError: false } });
    expect(server.requests.at(-1)?.headers).toMatchObject({ "mcp-param-zone": "eu" });
    expect(server.requests.at(-1)?.headers).not.toHaveProperty("mcp-param-region");
    expect(server.requests[1]?.headers).toMatchObject({ "mcp-method": "tools/list" });
    expect(server.requests[1]?.headers).not.toHaveProperty("mcp-name");
    expect(server.takeLog()).toEqual(["tools/call", "tools/list", "tools/call"]);
    expect(events).toEqual([
      refused,
      { type: "tools-changed", reason: "new-list", added: [], removed: [], changed: ["sql"] },
    ]);
    expect(slot.snapshot).toMatchObject({ kept: [{}, { result: { tools: [sqlTool("Zone")] } }] });
    // The client goes on with its old definition.
    await modern.call("sql", "eu", own);
    expect(server.takeLog()).toEqual(["tools/call"]);
  });

  test("lists again when the list that the client got has run out since", async () => {
    let late = 0;
    const { modern, server } = await startLaterStep(() => Date.now() + late);
    late = 60_000;
    expect(await modern.call()).toMatchObject({ result: { isError: false } });
    expect(server.takeLog()).toEqual(["tools/call", "tools/list", "tools/call"]);
  });

  test("gives the client the second refusal, and sends nothing more", async () => {
    const { modern, server } = await startLaterStep();
    refuse(server, "tools/call", -32_020);
    expect(await modern.call()).toMatchObject({ error: { code: -32_020 } });
    expect(server.takeLog()).toEqual(["tools/call", "tools/list", "tools/call"]);
  });

  test("gives the client the refusal when the list does not come", async () => {
    const { modern, server } = await startLaterStep();
    server.state.before = ({ message }, response) => {
      if (message.method === "tools/call") return false;
      response.writeHead(503).end();
      return true;
    };
    server.state.pages = [[sqlTool("Zone")]];
    expect(await modern.call()).toMatchObject({ error: { code: -32_020 } });
    expect(server.takeLog()).toEqual(["tools/call", "tools/list", "tools/list"]);
  });

  test("asks once for calls that are refused at the same time", async () => {
    const { modern, server, events } = await startLaterStep();
    server.state.pages = [[sqlTool("Zone")]];
    const calls = await Promise.all(Array.from({ length: 4 }, () => modern.call()));
    expect(calls.map(({ result }) => result.isError)).toEqual(calls.map(() => false));
    const log = server.takeLog();
    expect(log.filter((method) => method === "tools/list")).toHaveLength(1);
    expect(log).toHaveLength(9);
    expect(events.filter(({ type }) => type === "discarded")).toEqual([refused]);
  });

  test("a client that leaves while the list comes leaves the others alone", async () => {
    const { modern, server } = await startLaterStep();
    server.state.pages = [[sqlTool("Zone")]];
    const leaving = new AbortController();
    server.state.before = ({ message }) => {
      if (message.method === "tools/list") leaving.abort();
      return false;
    };
    const [left, stayed] = await Promise.allSettled([
      modern.call("sql", "eu", { signal: leaving.signal }),
      modern.call(),
    ]);
    expect([left.status, stayed.status]).toEqual(["rejected", "fulfilled"]);
  });

  test("passes it on when no list is kept, and for other methods", async () => {
    const server = await startModernServer({ ttlMs: 0 });
    const { modern } = startMemoryStep(server);
    await modern.list();
    expect(await modern.call()).toMatchObject({ error: { code: -32_020 } });
    expect(server.takeLog()).toEqual(["tools/list", "tools/call"]);
    const later = await startLaterStep();
    refuse(later.server, "prompts/get", -32_020);
    expect(await later.modern.request("prompts/get", { name: "a" })).toMatchObject({ error: {} });
    expect(later.server.takeLog()).toEqual(["prompts/get"]);
  });
});

describe("after -32022", () => {
  test("asks again, and sends the request once more if the server speaks the revision", async () => {
    const { modern, server, events, save } = await startLaterStep();
    refuse(server, "tools/call", -32_022, { supported: [revision] }, 1);
    expect(await modern.call()).toMatchObject({ result: { isError: false } });
    expect(server.takeLog()).toEqual(["tools/call", ...modernStep]);
    expect(events).toEqual([refused]);
    await probeListAndCall(startMemoryStep(server, save()));
    expect(server.takeLog()).toEqual(["tools/call"]);
  });

  test("asks nothing and forgets all when the server went back to other revisions", async () => {
    const { modern, server, events, save } = await startLaterStep();
    server.state.supportedVersions = ["2025-11-25"];
    expect(await modern.call()).toMatchObject({ error: { code: -32_022 } });
    expect(server.takeLog()).toEqual(["tools/call"]);
    expect(events).toEqual([refused]);
    // The next client learns it as it would without memory.
    const next = startMemoryStep(server, save());
    expect(await next.modern.request("server/discover")).toMatchObject({
      error: { code: -32_022 },
    });
  });

  test("trusts the new discovery more than the refusal", async () => {
    const { modern, server } = await startLaterStep();
    refuse(server, "tools/call", -32_022);
    server.state.supportedVersions = [revision];
    const discovery = server.state.before!;
    server.state.before = (request, response) => {
      if (request.message.method !== "server/discover") return discovery(request, response);
      const result = { supportedVersions: ["2027-01-01"], ttlMs: 0 };
      sendJson(response, 200, { jsonrpc: "2.0", id: request.message.id, result });
      return true;
    };
    expect(await modern.call()).toMatchObject({ error: { code: -32_022 } });
    expect(server.takeLog()).toEqual(["tools/call", "server/discover"]);
  });

  test("leaves what other clients of the slot use", async () => {
    const step = await startLaterStep();
    const { server } = step;
    server.state.supportedVersions = [revision, "2027-01-01"];
    const newer = createModernClient(step.fetch, server.url, { version: "2027-01-01" });
    await probeListAndCall({ modern: newer });
    server.state.supportedVersions = ["2027-01-01"];
    await step.modern.call();
    server.takeLog();
    await probeListAndCall({ modern: newer });
    expect(server.takeLog()).toEqual(["tools/call"]);
  });
});

test.each([
  [
    "HTTP 400 with a code of the session era",
    400,
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32000}}',
  ],
  ["HTTP 400 without JSON-RPC", 400, "Bad Request"],
  ["HTTP 404 without a body", 404, ""],
])("%s is an older server's: all is forgotten, and nothing sent again", async (_, status, body) => {
  const { modern, server, events, save } = await startLaterStep();
  server.state.before = (_request, response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(body);
    return true;
  };
  await modern.call();
  expect(server.takeLog()).toEqual(["tools/call"]);
  expect(events).toEqual([refused]);
  delete server.state.before;
  await probeListAndCall(startMemoryStep(server, save()));
  expect(server.takeLog()).toEqual(modernStep);
});

test.each([
  ["HTTP 500", 500, -32_020],
  ["another error", 400, -32_602],
  ["HTTP 200", 200, -32_020],
])("%s is passed on, and nothing is sent again", async (_, status, code) => {
  const { modern, server, events } = await startLaterStep();
  server.state.before = ({ message }, response) => {
    sendJson(response, status, { jsonrpc: "2.0", id: message.id, error: { code, message: "no" } });
    return true;
  };
  expect(await modern.call()).toMatchObject({ error: { code } });
  expect(server.takeLog()).toEqual(["tools/call"]);
  expect(events).toEqual([]);
});
