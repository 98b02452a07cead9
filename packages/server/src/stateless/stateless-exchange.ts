import { McpSessionError } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import { answeredId, isRequest, outcomeUnknown } from "../base/json-rpc.ts";
import {
  type Answer,
  firstStatelessVersion,
  type Implementation,
  type JSONRPCMessage,
  type ServerTransport,
} from "../base/mcp-types.ts";
import type { EmitServerEvent } from "../base/server-event.ts";
import { changeOf, endState, type RequestState } from "../context/request-state.ts";
import type { AnswerInstead } from "../tasks/task-host.ts";
import type { ClientSide, ConnectableServer } from "../author/server-session.ts";
import { failure, printAnswer } from "../calls/settle-call.ts";

/**
 * One request without a session, between its client and the author's server.
 * @param onAnswer gets the answer as it is sent
 */
export function createStatelessExchange(
  state: RequestState,
  emit: EmitServerEvent,
  onAnswer: (answer: Answer) => void = () => {},
) {
  let instead: AnswerInstead | undefined;
  let running: RequestState | undefined;
  /** The answer, on its way. */
  let answering: Promise<void> | undefined;
  let giveUp: (() => Promise<void>) | undefined;

  function watch(transport: ServerTransport): void {
    const sendMessage = transport.send.bind(transport);
    const send = (message: Answer) => {
      onAnswer(message);
      return sendMessage(message);
    };
    async function answer(message: Answer): Promise<void> {
      const settled = settle(state, replaced(message, instead), emit);
      await send(settled instanceof Promise ? await settled : settled);
    }
    transport.send = async (message, options) => {
      if (answeredId(message) === undefined) return await sendMessage(message, options);
      await (answering ??= answer(message as Answer));
    };
    const receive = transport.onmessage;
    const dispatch: ServerTransport["onmessage"] = (message: JSONRPCMessage, extra) => {
      if (!isRequest(message)) return receive?.(message, extra);
      running = state;
      giveUp = async () => {
        endState(state);
        await (answering ??= send(outcomeUnknown(message.id)));
      };
      if (state.refusal) void transport.send(state.refusal);
      else receive?.(message, extra);
    };
    Object.assign(transport, { onmessage: dispatch });
  }

  return {
    /** In whose handler code runs; `undefined` before the server has got it. */
    get running(): RequestState | undefined {
      return running;
    },
    /** Stores what the request changed before its answer goes out, from when the server connects. */
    attach: (server: ConnectableServer): void => {
      const connect = server.connect.bind(server);
      server.connect = async (transport) => {
        await connect(transport);
        watch(transport);
      };
    },
    /** Answers the request, with an unknown outcome, unless its server has. */
    giveUp: async (): Promise<void> => await giveUp?.(),
    /** What the client gets when the server answers. */
    answerInstead: (answer: AnswerInstead): void => {
      instead = answer;
    },
  };
}

/** At once when there is nothing to store: the transport tells early errors from late ones. */
function settle(
  state: RequestState,
  answer: Answer,
  emit: EmitServerEvent,
): Answer | Promise<Answer> {
  const failed = (error: unknown) => {
    if (!McpSessionError.isInstance(error)) emit({ type: "failed", error });
    return failure(answer.id!, error);
  };
  try {
    // What a handler did for an answer that is not JSON is not stored.
    printAnswer(answer);
    const change = changeOf(state);
    if (!change || !state.row) return answer;
    return state.row.commit(change).then(() => answer, failed);
  } catch (error) {
    return failed(error);
  } finally {
    endState(state);
  }
}

/** The server's own answer says who the server is. */
function replaced(message: Answer, instead: AnswerInstead | undefined): Answer {
  if (!instead) return message;
  const { id } = message;
  if ("error" in instead) return { jsonrpc: "2.0", ...(id !== undefined && { id }), ...instead };
  const meta = "result" in message ? message.result["_meta"] : undefined;
  const result = { ...instead.result, ...(meta !== undefined && { _meta: meta }) };
  return { jsonrpc: "2.0", id: id!, result };
}

/** The client of a request without a session, as its envelope says. */
export function clientOfRequest(message: object | undefined): ClientSide {
  const { params } = (message ?? {}) as { params?: { _meta?: Record<string, unknown> } };
  const { _meta: envelope } = params ?? {};
  const part = (name: string) => envelope?.[`io.modelcontextprotocol/${name}`];
  const [version, capabilities, info] = ["protocolVersion", "clientCapabilities", "clientInfo"].map(
    part,
  );
  return {
    protocolVersion: typeof version === "string" ? version : firstStatelessVersion,
    clientCapabilities: isRecord(capabilities) ? capabilities : {},
    clientInfo: isRecord(info) ? (info as unknown as Implementation) : undefined,
  };
}
