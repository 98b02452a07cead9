import type { ExpectedCall, StatefulServer } from "./stateful-servers.ts";

/**
 * Every fourth call is fast, most take 0 to 200 ms so that the answers of both processes interleave, and
 * a few take longer, so that they overlap whichever process comes late.
 */
export function overlappingCalls(
  server: StatefulServer,
  tag: string,
  count: number,
): ExpectedCall[] {
  return Array.from({ length: count }, (_, n) => {
    if (n % 4 === 0 || !server.slowCall) return server.independentCall(tag, n);
    return server.slowCall(tag, n, n % 10 === 9 ? 1_500 : (n * 37) % 201);
  });
}
