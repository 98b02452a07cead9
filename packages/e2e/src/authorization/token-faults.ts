import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { TokenFault, TokenFaultPlan } from "./protocol.ts";

export function createTokenFaults() {
  const plans: TokenFaultPlan[] = [];
  return {
    plan: (plan: TokenFaultPlan) => void plans.push(plan),
    /** What the next request of this grant type meets, once. */
    take: (grantType: string | null): TokenFaultPlan | undefined => {
      const at = plans.findIndex((each) => (each.grantType ?? grantType) === grantType);
      return at < 0 ? undefined : plans.splice(at, 1)[0];
    },
  };
}

/** Has the answer to a token request meet its fault. The server carries the request out. */
export function meetFault(
  { fault, waitMs = 1_000 }: TokenFaultPlan,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const end = response.end.bind(response);
  const faults: Record<TokenFault, (body: unknown) => void> = {
    "cut-after": () => request.socket.destroy(),
    "wait-after": (body) => void sleep(waitMs).then(() => end(body)),
    "gateway-timeout": () => answer(504, "application/json", '{"message":"timed out"}'),
    "bad-gateway": () => answer(502, "text/html", "<title>502 Bad Gateway</title>"),
  };
  const answer = (status: number, type: string, body: string) => {
    response.removeHeader("content-length");
    response.writeHead(status, { "content-type": type });
    end(body);
  };
  response.end = ((body?: unknown) => {
    faults[fault](body);
    return response;
  }) as typeof response.end;
}
