import { McpSessionError } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import { answeredId, isRequest, outcomeUnknown } from "../base/json-rpc.ts";
import {
  type Answer,
  firstStatelessVersion,
  type Implementation,
  type JSONRPCMessage,
  type RequestId,
  type ServerTransport,
} from "../base/mcp-types.ts";
import type { EmitServerEvent } from "../base/server-event.ts";
import { changeOf, type RequestState } from "./request-state.ts";
import type { ClientSide, ConnectableServer } from "./server-session.ts";
import { failure, printAnswer } from "./settle-call.ts";

/** One request without a session, between its client and the author's server. */
export interface StatelessExchange {
  /** In whose handler code runs; `undefined` before the server has got it. */
  readonly running: RequestState | undefined;
  /** Stores what the request changed before its answer goes out, from when the server connects. */
  attach(server: ConnectableServer): void;
  /** Answers the request, with an unknown outcome, unless its server has. */
  giveUp(): Promise<void>;
}

export function createStatelessExchange(
  state: RequestState,
  emit: EmitServerEvent,
): StatelessExchange {
  let running: RequestState | undefined;
  /** The answer, on its way. */
  let answering: Promise<void> | undefined;
  let giveUp: (() => Promise<void>) | undefined;

  function failed(id: RequestId, error: unknown): Answer {
    if (!McpSessionError.isInstance(error)) emit({ type: "failed", error });
    return failure(id, error);
  }

  /** At once when there is nothing to store: the transport tells early errors from late ones. */
  function settle(answer: Answer): Answer | Promise<Answer> {
    const id = answer.id!;
    try {
      // What a handler did for an answer that is not JSON is not stored.
      printAnswer(answer);
      const change = changeOf(state);
      if (!change || !state.row) return answer;
      return state.row.commit(change).then(
        () => answer,
        (error: unknown) => failed(id, error),
      );
    } catch (error) {
      return failed(id, error);
    } finally {
      end();
    }
  }

  function end(): void {
    state.isOver = true;
    state.call?.close();
  }

  function watch(transport: ServerTransport): void {
    const send = transport.send.bind(transport);
    async function answer(message: Answer): Promise<void> {
      const settled = settle(message);
      await send(settled instanceof Promise ? await settled : settled);
    }
    transport.send = async (message, options) => {
      if (answeredId(message) === undefined) return await send(message, options);
      await (answering ??= answer(message as Answer));
    };
    const receive = transport.onmessage;
    const dispatch: ServerTransport["onmessage"] = (message: JSONRPCMessage, extra) => {
      if (!isRequest(message)) return receive?.(message, extra);
      running = state;
      giveUp = async () => {
        end();
        await (answering ??= send(outcomeUnknown(message.id)));
      };
      if (state.refusal) void transport.send(state.refusal);
      else receive?.(message, extra);
    };
    Object.assign(transport, { onmessage: dispatch });
  }

  return {
    get running() {
      return running;
    },
    attach: (server) => {
      const connect = server.connect.bind(server);
      server.connect = async (transport) => {
        await connect(transport);
        watch(transport);
      };
    },
    giveUp: async () => await giveUp?.(),
  };
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
