import { type Exchange, startFront } from "./front.ts";

/** What one HTTP request looked like on the wire; never the session id itself. */
export interface SeenRequest {
  httpMethod: string;
  /** The JSON-RPC method; `response` and `batch` name the other bodies. */
  rpcMethod?: string;
  /** The tool of a `tools/call`. */
  tool?: string;
  withSessionId: boolean;
  withProtocolVersion: boolean;
  /** Set once the server has answered. */
  status?: number;
}

interface HeldAnswer {
  /** Resolves when the server has answered and the client has seen nothing of it. */
  reached: Promise<void>;
  release: () => void;
  /** Breaks the client's connection instead: the answer is lost on its way. */
  drop: () => void;
}

export interface CountingProxy extends AsyncDisposable {
  url: string;
  /** The requests since the last call, in order. */
  takeRequests: () => SeenRequest[];
  /** The same, which stay for `takeRequests`. */
  seenRequests: () => readonly SeenRequest[];
  /** Resolves when the next request that matches is on its way to the server. */
  nextRequest: (matches: (request: SeenRequest) => boolean) => Promise<void>;
  /** Holds the answer to the next request that matches. */
  holdAnswer: (matches: (request: SeenRequest) => boolean) => HeldAnswer;
  close: () => Promise<void>;
}

interface PendingHold {
  matches: (request: SeenRequest) => boolean;
  reach: () => void;
  /** Rejects when the answer is dropped. */
  released: Promise<void>;
}

interface AwaitedRequest {
  matches: (request: SeenRequest) => boolean;
  arrive: () => void;
}

/** Forwards every request to the server as it came, answers streamed, and records it. */
export async function startCountingProxy(targetUrl: string): Promise<CountingProxy> {
  const seen: SeenRequest[] = [];
  const holds: PendingHold[] = [];
  const awaited: AwaitedRequest[] = [];
  const front = await startFront(targetUrl);

  front.rule = async (exchange) => {
    const record = describeRequest(exchange);
    seen.push(record);
    takeMatching(awaited, record)?.arrive();
    const answer = await exchange.open();
    record.status = answer.statusCode ?? 0;
    const hold = takeMatching(holds, record);
    hold?.reach();
    await hold?.released;
    exchange.give(answer);
  };

  return {
    url: front.url,
    takeRequests: () => seen.splice(0),
    seenRequests: () => seen,
    nextRequest: (matches) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      awaited.push({ matches, arrive: resolve });
      return promise;
    },
    holdAnswer: (matches) => {
      const reached = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      holds.push({ matches, reach: reached.resolve, released: released.promise });
      const drop = () => released.reject(new Error("dropped"));
      return { reached: reached.promise, release: released.resolve, drop };
    },
    close: front.close,
    [Symbol.asyncDispose]: front.close,
  };
}

function takeMatching<WAITING extends { matches: (request: SeenRequest) => boolean }>(
  waiting: WAITING[],
  record: SeenRequest,
): WAITING | undefined {
  const at = waiting.findIndex(({ matches }) => matches(record));
  return at < 0 ? undefined : waiting.splice(at, 1)[0];
}

function describeRequest({ httpMethod, request, body, message }: Exchange): SeenRequest {
  const described: SeenRequest = {
    httpMethod,
    withSessionId: request.headers["mcp-session-id"] !== undefined,
    withProtocolVersion: request.headers["mcp-protocol-version"] !== undefined,
  };
  if (body === "") return described;
  described.rpcMethod = Array.isArray(message) ? "batch" : (message.method ?? "response");
  if (message.method === "tools/call" && message.params?.name) described.tool = message.params.name;
  return described;
}
