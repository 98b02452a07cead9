import type { FaultyServer } from "@durable-mcp/testing";

/**
 * A client as it is written in an afternoon: it keeps its session and its tools in variables, reads the first message of
 * an answer, waits for half a second, and tries once more whatever went wrong.
 */
export function createNaiveClient({ url }: Pick<FaultyServer, "url">) {
  let sessionId: string | undefined;
  let tools: readonly string[] | undefined;
  let token: { access_token: string; refresh_token: string } | undefined;

  const post = async (message: object) => {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(sessionId !== undefined && { "mcp-session-id": sessionId }),
        ...(token && { authorization: `Bearer ${token.access_token}` }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      signal: AbortSignal.timeout(500),
    });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    sessionId ??= response.headers.get("mcp-session-id") ?? undefined;
    if (response.status === 202) return undefined;
    const { value = new Uint8Array() } = await response.body!.getReader().read();
    const { result } = JSON.parse(new TextDecoder().decode(value).replace(/^[^{]*/, ""));
    return result;
  };
  const request = async (method: string, params: object = {}) => {
    const message = { id: 1, method, params };
    return await post(message).catch(() => post(message));
  };
  return {
    useToken: (given: typeof token) => void (token = given),
    async refresh() {
      const { refresh_token } = token!;
      const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token });
      const response = await fetch(new URL("/token", url), { method: "POST", body });
      if (!response.ok) throw new Error("Sign in again.");
      token = await response.json();
    },
    async order(item: string): Promise<string> {
      if (sessionId === undefined) {
        const clientInfo = { name: "naive", version: "1" };
        const capabilities = { elicitation: {} };
        await request("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
        await post({ method: "notifications/initialized" });
      }
      tools ??= (await request("tools/list")).tools.map(({ name }: { name: string }) => name);
      const name = tools!.includes("order_now") ? "order_now" : "order";
      const { content } = await request("tools/call", { name, arguments: { item } });
      return content.map(({ text }: { text: string }) => text).join("\n");
    },
  };
}
