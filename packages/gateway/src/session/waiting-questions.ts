import type { JsonRpcRequest } from "@durable-mcp/core";
import { isRecord, type JsonRpcResponse } from "@durable-mcp/core/internal";
import { createWaitingCalls, type WaitingCall, waitingCallOf } from "@durable-mcp/core/waiting";
import { errorResult } from "../base/answers.ts";
import { waitingLimits } from "../base/centre.ts";
import { agent, type Centre, type SessionName } from "./upstreams.ts";

/** The tool of the gateway that gives the result of a call which has waited. */
const resultTool = {
  name: "waiting_result",
  description:
    "Gives the result of an earlier call that waits for a person. Call it some time later; until there is a result it says so.",
  inputSchema: {
    type: "object",
    properties: { call: { type: "string", description: "As the earlier call's result says." } },
    required: ["call"],
  },
};

export type WaitingQuestions = ReturnType<typeof createWaitingQuestions>;

/**
 * The questions of a server to a person, if the connection has `waiting`. They wait in the store, whatever the client
 * has declared; `waiting` and `answer` of the gateway are for them.
 *
 * @returns `undefined` for a connection without `waiting`
 */
export function createWaitingQuestions(
  centre: Centre,
  { session, connection, principal }: SessionName,
) {
  const { options } = centre.connections[connection]!;
  const limits = waitingLimits(options);
  if (limits === undefined) return undefined;
  const { url } = options;
  const { store, now, sessions } = centre;
  const calls = createWaitingCalls({
    ...{ ...limits, store, agent, sessionId: session, principal, connection, url, now },
    // Nobody can answer a sampling that waits, and a client waits for its own tasks.
    for: ["person"],
  });
  /** Whether the server has a tool of that name. */
  let isTaken = false;
  return {
    calls,
    takes: ({ method, params }: JsonRpcRequest) =>
      !isTaken && method === "tools/call" && params?.["name"] === resultTool.name,
    /** An answer of the server as the client gets it. */
    edit(answer: JsonRpcResponse, { method }: JsonRpcRequest): JsonRpcResponse {
      const call = waitingCallOf(answer.result);
      if (call) return errorResult(answer.id ?? 0, waitsText(call));
      const tools = method === "tools/list" ? answer.result?.["tools"] : undefined;
      if (!Array.isArray(tools)) return answer;
      isTaken ||= tools.some((tool) => isRecord(tool) && tool["name"] === resultTool.name);
      if (isTaken || answer.result?.["nextCursor"]) return answer;
      const all = [...(tools as unknown[]), resultTool];
      return { ...answer, result: { ...answer.result, tools: all } };
    },
    /** The result of a call that has waited. */
    async result({ id, params }: JsonRpcRequest): Promise<JsonRpcResponse> {
      const args = params?.["arguments"];
      const callId = isRecord(args) ? args["call"] : undefined;
      await sessions.check(session, { principal });
      const found = typeof callId === "string" ? await calls.find(callId) : undefined;
      if (found === undefined) return errorResult(id, "There is no such call.");
      if (found.result) return { jsonrpc: "2.0", id, result: { ...found.result } };
      if (found.error) return errorResult(id, found.error.message);
      const { state } = found.call;
      const isOver = state !== "waiting" && state !== "answering";
      return errorResult(id, isOver ? (overTexts[state] ?? noResult) : waitsText(found.call));
    },
  };
}

const overTexts: Readonly<Record<string, string>> = {
  expired: "Nobody has answered in time. The call was not carried out.",
  withdrawn: "The call was taken back.",
  "outcome-unknown": "Whether the call was carried out is unknown. Check before you make it again.",
};

const noResult = "The call is over, without a result.";

function waitsText({ id, requests }: WaitingCall): string {
  const questions = Object.values(requests ?? {}).flatMap(({ params = {} }) => {
    const { message } = params as { readonly message?: unknown };
    return typeof message === "string" ? [message] : [];
  });
  const asked = questions.length > 0 ? ` The server asks: ${questions.join(" ")}` : "";
  return `This call waits for a person.${asked} It is not done; do not make it again. Its result comes later: call ${resultTool.name} with {"call":"${id}"}.`;
}
