import { createMCPClient, type InitializeResult } from "@ai-sdk/mcp";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import {
  Client,
  InMemoryResponseCacheStore,
  type PriorDiscovery,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { Client as ClientOfV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportOfV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/**
 * One step: connects, lists the tools, calls `count` and closes. It gets what the step before it has saved, and saves
 * for the next one. Both are JSON.
 */
export type Step = (url: string, saved: unknown) => Promise<StepResult>;

interface StepResult {
  /** What the tool answered. */
  readonly result: unknown;
  readonly saved?: unknown;
}

const clientInfo = { name: "step", version: "1.0.0" };
const call = { name: "count", arguments: {} };

/** What an application can do with the clients as they come. */
export const contenders: Readonly<Record<string, Step>> = {
  "bare POST": postBare,
  "@ai-sdk/mcp": async (url) => {
    const client = await createMCPClient({ transport: { type: "http", url } });
    const tools = await client.tools();
    const result = await tools["count"]!.execute({});
    await client.close();
    return { result };
  },
  "@ai-sdk/mcp, its session options": (url, saved) => withSessionOptions(url, saved, false),
  "@ai-sdk/mcp, its session options, a kept list": (url, saved) =>
    withSessionOptions(url, saved, true),
  "SDK v1": async (url) => {
    const client = new ClientOfV1(clientInfo);
    await client.connect(new TransportOfV1(new URL(url)));
    await client.listTools();
    const result = await client.callTool(call);
    await client.close();
    return { result };
  },
  "SDK v1, a kept session id": async (url, saved) => {
    const kept = saved as { sessionId?: string; version?: string } | undefined;
    const transport = new TransportOfV1(new URL(url), {
      ...(kept?.sessionId !== undefined && { sessionId: kept.sessionId }),
    });
    if (kept?.version !== undefined) transport.setProtocolVersion(kept.version);
    const client = new ClientOfV1(clientInfo);
    await client.connect(transport);
    await client.listTools();
    const result = await client.callTool(call);
    const next = { sessionId: transport.sessionId, version: transport.protocolVersion };
    await client.close();
    return { result, saved: next };
  },
  "client v2": async (url) => {
    const client = new Client(clientInfo, { versionNegotiation: { mode: "auto" } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    await client.listTools();
    const result = await client.callTool(call);
    await client.close();
    return { result };
  },
  "client v2, all that it can keep": withKeptCache,
  "@langchain/mcp-adapters": async (url) => {
    const client = new MultiServerMCPClient({ server: { url } });
    const tools = await client.getTools();
    const result: unknown = await tools.find(({ name }) => name === "count")!.invoke({});
    await client.close();
    return { result };
  },
};

const sessionEra = "2025-11-25";
const modern = "2026-07-28";
const meta = "io.modelcontextprotocol";

/** No client: the application's own requests, with what it keeps itself. */
async function postBare(url: string, saved: unknown): Promise<StepResult> {
  const kept = saved as Parameters<typeof postCall>[1] | undefined;
  if (kept !== undefined) return { result: await postCall(url, kept), saved: kept };
  const params = { protocolVersion: sessionEra, capabilities: {}, clientInfo };
  const { headers, text } = await post(url, {}, { id: 0, method: "initialize", params });
  if (/"code":-32022/.test(text)) return await postBare(url, modernCall);
  const id = headers.get("mcp-session-id");
  const next = {
    headers: { "mcp-protocol-version": sessionEra, ...(id !== null && { "mcp-session-id": id }) },
    params: {},
  };
  await post(url, next.headers, { method: "notifications/initialized" });
  return await postBare(url, next);
}

const modernCall = {
  headers: {
    "mcp-protocol-version": modern,
    "mcp-method": "tools/call",
    "mcp-name": call.name,
  },
  params: {
    _meta: {
      [`${meta}/protocolVersion`]: modern,
      [`${meta}/clientInfo`]: clientInfo,
      [`${meta}/clientCapabilities`]: {},
    },
  },
};

async function postCall(
  url: string,
  { headers, params }: { headers: Record<string, string>; params: object },
): Promise<unknown> {
  const message = { id: 1, method: "tools/call", params: { ...call, ...params } };
  const { text } = await post(url, headers, message);
  const data = /^data: (\{.*)$/m.exec(text)?.[1] ?? text;
  return (JSON.parse(data) as { result?: unknown }).result;
}

async function post(url: string, headers: Record<string, string>, message: object) {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  });
  return { headers: response.headers, text: await response.text() };
}

/** They do not speak revision 2026-07-28. */
export const ofSessionEra: readonly string[] = [
  "SDK v1",
  "SDK v1, a kept session id",
  "@langchain/mcp-adapters",
];

interface KeptByAiSdk {
  readonly id?: string;
  readonly initializeResult: InitializeResult;
  readonly list: Awaited<ReturnType<Awaited<ReturnType<typeof createMCPClient>>["listTools"]>>;
}

/** A result of discovery is no `InitializeResult` to go on with: it would force the session era. */
async function withSessionOptions(
  url: string,
  saved: unknown,
  keepsList: boolean,
): Promise<StepResult> {
  const kept = saved as KeptByAiSdk | undefined;
  let id = kept?.id;
  const client = await createMCPClient({
    transport: {
      type: "http",
      url,
      ...(id !== undefined && { initialSessionId: id }),
      onSessionIdChange: (changed) => (id = changed),
      terminateSessionOnClose: false,
    },
    ...(kept && { initialInitializeResult: kept.initializeResult }),
  });
  const list = keepsList && kept ? kept.list : await client.listTools();
  const result = await client.toolsFromDefinitions(list)["count"]!.execute({});
  const { initializeResult } = client;
  await client.close();
  const isModern = initializeResult.protocolVersion >= "2026-07-28";
  return { result, ...(!isModern && { saved: { id, initializeResult, list } }) };
}

interface KeptByClient2 {
  readonly sessionId?: string;
  readonly version?: string;
  readonly prior: PriorDiscovery;
  readonly cache: readonly (readonly [
    Parameters<InMemoryResponseCacheStore["get"]>[0],
    Parameters<InMemoryResponseCacheStore["set"]>[1],
  ])[];
}

/** The client's own cache has a store to be persisted; its session id and its discovery have options. */
async function withKeptCache(url: string, saved: unknown): Promise<StepResult> {
  const kept = saved as KeptByClient2 | undefined;
  const responseCacheStore = new InMemoryResponseCacheStore();
  const cache = new Map<string, KeptByClient2["cache"][number]>();
  const set = responseCacheStore.set.bind(responseCacheStore);
  responseCacheStore.set = (key, entry) => {
    cache.set(JSON.stringify(key), [key, entry]);
    return set(key, entry);
  };
  for (const [key, entry] of kept?.cache ?? []) responseCacheStore.set(key, entry);
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    ...(kept?.sessionId !== undefined && { sessionId: kept.sessionId }),
    ...(kept?.version !== undefined && { protocolVersion: kept.version }),
  });
  const client = new Client(clientInfo, {
    versionNegotiation: { mode: "auto" },
    responseCacheStore,
  });
  await client.connect(transport, { ...(kept && { prior: kept.prior }) });
  // In a resumed session this client knows no capabilities, and its list is empty: the application has to keep it.
  if (kept?.sessionId === undefined) await client.listTools();
  const result = await client.callTool(call);
  const discover = client.getDiscoverResult();
  const next = {
    ...{ sessionId: transport.sessionId, version: transport.protocolVersion },
    prior: discover ? { kind: "modern", discover } : { kind: "legacy" },
    cache: [...cache.values()],
  };
  await client.close();
  return { result, saved: next };
}
