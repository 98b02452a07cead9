/** What a server answers to a request with the id of a session that it has forgotten. */
export interface ForgottenAnswer {
  readonly name: string;
  /** Whom it was seen from, if it is somebody. */
  readonly from?: string;
  readonly status: number;
  /** The text, or the error of a JSON-RPC message. */
  readonly says: string | { readonly code: number; readonly message: string };
  /** Whether the message names the request. */
  readonly isNamed?: boolean;
  /** Whether new sessions get no id. */
  readonly isSessionless?: boolean;
  /**
   * What becomes of a call that meets it: it is made again, its outcome is unknown, or the model gets the tool's own
   * result.
   */
  readonly call: "again" | "unknown" | "result";
}

const error = (code: number, message: string) => ({ code, message });
const notFound = error(-32_001, "Session not found");

/** The answers of servers that were measured, or reported. */
export const forgottenAnswers: readonly ForgottenAnswer[] = [
  ...[
    { name: "404 −32001", from: "mcp-nest", says: notFound },
    { name: "404 plain", from: "Playwright, Go SDK, rmcp", says: "Session not found" },
    { name: "404 empty", from: "@zuplo/mcp", says: "" },
    { name: "404 JSON", from: "OneUptime", says: '{"error":"Session not found","message":"Gone"}' },
    { name: "404 without error", from: "helidon-mcp", says: '{"jsonrpc":"2.0","id":1}' },
    {
      ...{ name: "404 −32600, id server-error", from: "Python SDK" },
      says: '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}',
    },
  ].map((row) => ({ ...row, status: 404, call: "again" as const })),
  { name: "404 HTML", status: 404, says: "<html><h1>Not found</h1></html>", call: "unknown" },
  ...[
    { from: "server-everything", says: "Bad Request: No valid session ID provided" },
    { from: "SDK v1", says: "Bad Request: Server not initialized" },
    { from: "OmniRoute", says: "Bad Request: Unknown Mcp-Session-Id header" },
    { from: "affine-mcp-server", says: "No valid session ID or not an initialize request" },
    {
      ...{ from: "C# SDK without sessions", isNamed: true, isSessionless: true },
      says: "Bad Request: The Mcp-Session-Id header is not supported in stateless mode",
    },
  ].map(({ says, ...row }) => ({
    ...{ ...row, name: `400 ${says}`, status: 400, says: error(-32_000, says) },
    call: "again" as const,
  })),
  {
    ...{ name: "503, this API instance", from: "neotoma", status: 503, call: "again" },
    says: error(-32_001, "The session is unknown on this API instance"),
  },
  {
    ...{ name: "503 JSON", from: "neotoma", status: 503, call: "again" },
    says: '{"error":"Session not found or expired"}',
  },
  {
    ...{ name: "400 −32600", from: "remote-mcp-server", status: 400, call: "unknown" },
    ...{ says: error(-32_600, "Invalid session ID: 7"), isNamed: true },
  },
  ...[400, 409, 410].map((status) => ({
    ...{ name: `${status} −32001`, status, says: notFound, call: "unknown" as const },
  })),
  ...["Session expired", "Gone", ""].map((says) => ({
    ...{ name: `410 ${says || "empty"}`, status: 410, says, call: "unknown" as const },
  })),
  { name: "409 stale", status: 409, says: error(-32_000, "Session stale"), call: "unknown" },
  ...[-32_001, -32_000].map((code) => ({
    ...{ name: `403 ${code}`, status: 403, call: "unknown" as const },
    says: error(code, "Invalid session"),
  })),
  ...[-32_603, -32_001].map((code) => ({
    ...{ name: `500 ${code}`, status: 500, call: "unknown" as const },
    says: error(code, "Internal error"),
  })),
  { name: "500 −32001, named", status: 500, says: notFound, isNamed: true, call: "unknown" },
  ...[-32_600, -32_001, -32_000].map((code) => ({
    ...{ name: `200 ${code}`, from: "neotoma", status: 200, isNamed: true },
    ...{ says: error(code, "Session not found"), call: "unknown" as const },
  })),
  {
    ...{ name: "200 −32600, unnamed", from: "zilla", status: 200, call: "unknown" },
    says: error(-32_600, "Invalid Request"),
  },
  // Only a call gets a result.
  { name: "200 isError", status: 200, says: notFound, isNamed: true, call: "result" },
];

/** The answer to a message: its status, its content type and its text. */
export function forgottenAnswer(
  { status, says, isNamed = false, call }: ForgottenAnswer,
  message: { readonly id?: unknown; readonly method?: string } = {},
) {
  const id = isNamed ? (message.id ?? null) : null;
  const content = [{ type: "text", text: "Session not found" }];
  const isResult = call === "result" && message.method === "tools/call";
  const body = isResult ? { result: { isError: true, content } } : { error: says };
  const text = typeof says === "string" ? says : JSON.stringify({ jsonrpc: "2.0", id, ...body });
  const kind = text.startsWith("<") ? "text/html" : "text/plain";
  return { status, type: text.startsWith("{") ? "application/json" : kind, text };
}
