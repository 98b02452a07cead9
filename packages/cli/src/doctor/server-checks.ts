import type { McpConnection } from "@durable-mcp/ai-sdk";
import { hasSession, inParallel } from "@durable-mcp/ai-sdk/internal";
import { type DeclaredServer, isDisabled } from "../configuration/mcp-json.ts";
import { count } from "../output/print-values.ts";
import {
  type AuthorizationFacts,
  type CheckResult,
  type Facts,
  failed,
  note,
  ok,
  outcomes,
  type Probe,
  type Row,
  warning,
} from "../probe/checks.ts";
import { entryCheck, probeDeclared } from "../probe/probe-declared.ts";

/** Asks each server shortly: a row for each. */
export async function checkServers(
  servers: readonly DeclaredServer[],
  probe: Probe,
): Promise<Row[]> {
  return await inParallel(servers, async (server) => {
    const check = `server ${server.name}`;
    const onStart = (part: string) => probe.onStart(`${server.name}: ${part}`);
    const { outcome, says } = await checkServer(server, { ...probe, onStart, isShort: true });
    return { check, outcome, says };
  });
}

async function checkServer(server: DeclaredServer, probe: Probe): Promise<CheckResult> {
  if (isDisabled(server)) return note("The file disables it, so it was not asked.");
  const { connection } = server;
  const { facts, rows } = await probeDeclared(server, probe);
  const isLocked = facts.authorization !== undefined;
  const found: (CheckResult | Row)[] = rows.filter(
    ({ check, outcome }) =>
      check === entryCheck || (!isLocked && (outcome === "warning" || outcome === "failed")),
  );
  if (facts.authorization && connection)
    found.unshift(judgeLocked(facts.authorization, connection));
  if (facts.tools && connection) found.unshift(describe(facts), ...judgeSession(facts, server));
  const outcome = outcomes.findLast((each) => found.some((one) => one.outcome === each)) ?? "ok";
  return { outcome, says: found.map(({ says }) => says).join(" ") };
}

function describe({ server, tools }: Facts): CheckResult {
  const who = [server?.name, server?.version].filter(Boolean).join(" ");
  return ok(`${who || "A server without a name"}, ${count(tools?.names.length ?? 0, "tool")}.`);
}

/** Whether the connection keeps what the server gives. */
function judgeSession({ handshake }: Facts, { connection }: DeclaredServer): CheckResult[] {
  if (connection?.type !== "mcp-client") return [];
  const { session } = connection.options;
  const isKept = hasSession(connection);
  if (handshake?.hasSession === true) {
    if (isKept) return [ok("It gives session ids, and the connection keeps its session.")];
    if (session === "stateless") return [];
    return [
      warning(
        'It gives session ids, and the connection keeps none: add session: "stateful" (for an entry of a file, in overrides), or "stateless" if each step may begin anew.',
      ),
    ];
  }
  return isKept ? [note("It gives no session id, so there is no session to keep.")] : [];
}

function judgeLocked(
  { wasSent, status, issuer }: AuthorizationFacts,
  { options }: McpConnection,
): CheckResult {
  if (wasSent) return failed(`It refuses the credentials given (${status}).`);
  const { auth, headers } = options as { readonly auth?: unknown; readonly headers?: unknown };
  if (auth !== undefined || headers !== undefined)
    return note("It wants a sign-in. The functions of the connection need a user: not called.");
  return warning(
    issuer === undefined
      ? "It wants a token or a key: give the connection auth or headers."
      : `It wants a sign-in at ${issuer}: give the connection auth: oauth.`,
  );
}
