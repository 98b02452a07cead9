import {
  Client,
  InMemoryResponseCacheStore,
  type PriorDiscovery,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import {
  clientInfo,
  clientsAsTheyCome,
  type OpenClientFor,
  withSessionOptions,
} from "../clients/as-they-come.ts";

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

const call = { name: "count", arguments: {} };

const {
  "@ai-sdk/mcp": aiSdk,
  "@ai-sdk/mcp, its session options": aiSdkSession,
  "SDK v1": sdk1,
  "SDK v1, a kept session id": sdk1Session,
  "client v2": client2,
  "@langchain/mcp-adapters": langChain,
  "@mastra/mcp": mastra,
} = clientsAsTheyCome;

/** What an application can do with the clients as they come. */
export const contenders: Readonly<Record<string, Step>> = {
  "bare POST": postBare,
  "@ai-sdk/mcp": stepOf(aiSdk),
  "@ai-sdk/mcp, its session options": stepOf(aiSdkSession),
  "@ai-sdk/mcp, its session options, a kept list": stepOf((url, saved) =>
    withSessionOptions(url, saved, true),
  ),
  "SDK v1": stepOf(sdk1),
  "SDK v1, a kept session id": stepOf(sdk1Session),
  "client v2": stepOf(client2),
  "client v2, all that it can keep": withKeptCache,
  "@langchain/mcp-adapters": stepOf(langChain),
  "@mastra/mcp": stepOf(mastra),
};

function stepOf(open: OpenClientFor): Step {
  return async (url, saved) => {
    const client = await open(url, saved);
    await client.list?.();
    const result = await client.call(call.name, call.arguments);
    return { result, saved: await client.close() };
  };
}

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
