import { createFaultyProxy, type Exchange } from "@durable-mcp/testing";

export interface RoundRobin {
  readonly url: string;
  readonly counts: {
    /** Requests that a replica refused (the connection, or with 503); each went to the next one. */
    readonly refused: number;
    /** 400 and 404 to requests that carried a session id. */
    readonly sessionErrors: number;
  };
  /** Sends a replica no more requests, as before a deploy, or some again. */
  setServing: (url: string, isServing: boolean) => void;
  /** Breaks the connections of the clients that get an answer now, and none of the replicas'. */
  breakAnswers: () => void;
  close: () => Promise<void>;
}

/** How long a request waits for any replica, in milliseconds. */
const patienceMs = 20_000;

/**
 * Sends each request to the next replica, as a load balancer without sticky sessions does. What a
 * replica refuses is tried at the next one: connections, and 503, which says that nothing was done.
 * Nothing else is tried again.
 */
export async function startRoundRobin(targets: readonly URL[]): Promise<RoundRobin> {
  const paused = new Set<string>();
  const counts = { sessionErrors: 0, refused: 0 };
  let turn = 0;

  /** The answer of the first replica that takes the request. */
  async function openNext({ carryOut }: Exchange): Promise<Response> {
    const deadline = Date.now() + patienceMs;
    for (;;) {
      const serving = targets.filter(({ href }) => !paused.has(href));
      const target = serving[turn++ % serving.length]!.href;
      const answer = await carryOut(target).catch((error: unknown) => {
        if ((error as { code?: string }).code !== "ECONNREFUSED" || Date.now() > deadline)
          throw error;
      });
      if (answer !== undefined && answer.status !== 503) return answer;
      await answer?.body?.cancel();
      if (Date.now() > deadline) throw new Error("503");
      counts.refused += 1;
      if (turn % targets.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  const front = await createFaultyProxy({ target: targets[0]! });
  front.setGuard(async (exchange) => {
    const answer = await openNext(exchange);
    const isSessionError = answer.status === 400 || answer.status === 404;
    if (isSessionError && exchange.seen.headers.has("mcp-session-id")) counts.sessionErrors += 1;
    return answer;
  });
  return {
    url: front.url,
    counts,
    setServing: (url, isServing) => {
      if (isServing) paused.delete(url);
      else paused.add(url);
    },
    breakAnswers: () => front.breakAnswers(),
    close: front.close,
  };
}
