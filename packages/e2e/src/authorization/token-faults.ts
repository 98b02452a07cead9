import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { TokenFaultPlan } from "./protocol.ts";

export interface TokenFaults {
  plan: (plan: TokenFaultPlan) => void;
  stop: () => void;
  /** What the next request of this grant type meets; counts it. */
  take: (grantType: string | null) => TokenFaultPlan | undefined;
}

export function createTokenFaults(): TokenFaults {
  const plans: (TokenFaultPlan & { left: number })[] = [];
  return {
    plan: (plan) => void plans.push({ ...plan, left: plan.times ?? 1 }),
    stop: () => void plans.splice(0),
    take: (grantType) => {
      const plan = plans.find(
        (each) => each.left > 0 && (each.grantType ?? grantType) === grantType,
      );
      if (plan) plan.left -= 1;
      return plan;
    },
  };
}

/** Has a token request meet its fault; `carryOut` is what the server would have done. */
export async function meetFault(
  { fault, waitMs = 1_000 }: TokenFaultPlan,
  request: IncomingMessage,
  response: ServerResponse,
  carryOut: () => Promise<void>,
): Promise<void> {
  switch (fault) {
    case "unavailable":
      response.writeHead(503, { "retry-after": "1" }).end();
      return;
    case "too-many-requests":
      response.writeHead(429, { "retry-after": "1" }).end();
      return;
    case "cut-before":
      request.socket.destroy();
      return;
    case "wait-before":
      await sleep(waitMs);
      await carryOut();
      return;
    case "cut-after":
      holdAnswer(response, () => request.socket.destroy());
      await carryOut();
      return;
    case "gateway-timeout":
    case "bad-gateway":
      holdAnswer(response, (answer) => answer(gatewayAnswers[fault]));
      await carryOut();
      return;
    case "wait-after":
      holdAnswer(response, (answer) => void sleep(waitMs).then(() => answer()));
      await carryOut();
  }
}

interface GatewayAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const gatewayAnswers: Record<"gateway-timeout" | "bad-gateway", GatewayAnswer> = {
  "gateway-timeout": { status: 504, type: "application/json", body: '{"message":"timed out"}' },
  "bad-gateway": { status: 502, type: "text/html", body: "<title>502 Bad Gateway</title>" },
};

/** Leaves it to `handle` when, and whether, the answer goes out, or another in its place. */
function holdAnswer(
  response: ServerResponse,
  handle: (answer: (other?: GatewayAnswer) => void) => void,
): void {
  const end = response.end.bind(response);
  response.end = ((body?: unknown) => {
    handle((other) => {
      if (other) {
        response.removeHeader("content-length");
        response.writeHead(other.status, { "content-type": other.type });
      }
      end(other ? other.body : body);
    });
    return response;
  }) as typeof response.end;
}
