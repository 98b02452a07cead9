import type { JsonRpcRequest, Principal } from "@durable-mcp/core";
import type { JsonRpcId, JsonRpcMessage, JsonRpcResponse } from "@durable-mcp/core/internal";
import { declined, isRequest } from "../base/answers.ts";
import { type McpStdioConnection, startProgram } from "../base/centre.ts";
import { type AnswerUnderWay, createAnswer } from "./program-answers.ts";

/** A session of the gateway at a program. */
export interface ProgramSession {
  /** Tells its listener of a message. @returns whether it has one */
  readonly tell: (message: JsonRpcMessage) => boolean;
  /** The program has ended. */
  readonly close: () => void;
}

export type ProgramChild = Awaited<ReturnType<typeof startChild>>;

/** The client that has sent a request: all its ids begin alike. */
const clientOf = (id: JsonRpcId) => String(id).split(".")[0];

/** Starts a program. Whom its messages are for is known by ids and progress tokens, and by who waits for an answer. */
export async function startChild(
  definition: McpStdioConnection,
  connection: string,
  principal: Principal,
) {
  const sessions = new Set<ProgramSession>();
  const waiting = new Map<string, AnswerUnderWay>();
  const newest = () => [...waiting.values()].at(-1);

  const ask = (message: JsonRpcRequest) => {
    const clients = new Set([...waiting.values()].map(({ id }) => clientOf(id)));
    const [alone] = sessions;
    if (clients.size === 1) newest()!.tell(message);
    else if (clients.size > 1 || sessions.size !== 1 || !alone!.tell(message))
      void program.send(declined(message)).catch(() => undefined);
  };
  const notify = (message: JsonRpcMessage) => {
    const { params } = message as { params?: Record<string, unknown> };
    const token = params?.["progressToken"];
    if (token !== undefined)
      return [...waiting.values()]
        .find(({ progressToken }) => progressToken === token)
        ?.tell(message);
    const isHeard = [...sessions].map((session) => session.tell(message)).includes(true);
    // Without a listener it is about the call.
    if (!isHeard && sessions.size === 1) newest()?.tell(message);
  };
  const settle = (id: JsonRpcId, answer?: JsonRpcResponse | Error) => {
    const found = waiting.get(String(id));
    waiting.delete(String(id));
    found?.end(answer);
  };
  const program = await definition[startProgram]({
    ...{ connection, principal },
    onMessage(message) {
      if (isRequest(message)) ask(message);
      else if ("method" in message) notify(message);
      else if (message.id != null) settle(message.id, message);
    },
    onLost: settle,
  });
  let isOver = false;
  const watch = async () => {
    await program.exited;
    isOver = true;
    for (const session of sessions) session.close();
  };
  void watch();
  return {
    ...program,
    sessions,
    get isOver() {
      return isOver;
    },
    /** Sends a request. Never rejects: an answer that does not come breaks off. */
    async request(message: JsonRpcRequest): Promise<Response> {
      const answer = createAnswer(message);
      waiting.set(String(message.id), answer);
      await program.send(message, answer.aborting.signal).catch(() => settle(message.id));
      return await answer.response;
    },
    /** Cancels a request, whose answer does not come. */
    cancel(id: JsonRpcId): void {
      waiting.get(String(id))?.aborting.abort("cancelled");
      settle(id);
    },
  };
}
