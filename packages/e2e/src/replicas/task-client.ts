/** A small client of 2026-07-28 that takes tasks, written by hand: it shows what is on the wire. */

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {
    elicitation: {},
    extensions: { "io.modelcontextprotocol/tasks": {} },
  },
};

export interface Task {
  readonly taskId: string;
  readonly status: string;
  readonly inputRequests?: Readonly<Record<string, unknown>>;
  readonly result?: { readonly content: readonly { readonly text: string }[] };
  readonly error?: { readonly code: number; readonly data?: { readonly code?: string } };
}

/** @throws {Error} the JSON-RPC error, or why the connection broke */
async function request(
  url: string,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<any> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": String(params["taskId"] ?? params["name"]),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
    signal: AbortSignal.timeout(20_000),
  });
  const { result, error } = (await response.json()) as { result?: any; error?: any };
  if (error) throw Object.assign(new Error(error.message), { code: error.code });
  return result;
}

export const callTool = (url: string, name: string, args: object): Promise<Task> =>
  request(url, "tools/call", { name, arguments: args });

export const getTask = (url: string, taskId: string): Promise<Task> =>
  request(url, "tasks/get", { taskId });

export const cancelTask = (url: string, taskId: string): Promise<unknown> =>
  request(url, "tasks/cancel", { taskId });

/** Answers every open question with this year. */
export const answerTask = (
  url: string,
  { taskId, inputRequests = {} }: Task,
  year: string,
): Promise<unknown> => {
  const answer = { action: "accept", content: { year } };
  const keys = Object.keys(inputRequests);
  const inputResponses = Object.fromEntries(keys.map((key) => [key, answer]));
  return request(url, "tasks/update", { taskId, inputResponses });
};

export const textOf = ({ result }: Pick<Task, "result">): string => result?.content[0]?.text ?? "";
