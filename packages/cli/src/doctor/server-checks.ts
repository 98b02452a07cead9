import { inParallel } from "@durable-mcp/sessions/internal";
import { type DeclaredServer, isDisabled } from "../configuration/declared-server.ts";
import { count } from "../output/print-values.ts";
import * as checks from "../probe/checks.ts";
import { entryCheck, probeDeclared } from "../probe/probe-declared.ts";

const { failed, note, ok, warning } = checks;
type Finding = Pick<checks.Row, "outcome" | "says">;

/** Asks each server shortly: a row for each. */
export async function checkServers(
  servers: readonly DeclaredServer[],
  probe: checks.Probe,
): Promise<checks.Row[]> {
  return await inParallel(servers, async (server) => {
    const onStart = (part: string) => probe.onStart(`${server.name}: ${part}`);
    const found = await checkServer(server, { ...probe, onStart, isShort: true });
    const outcome = checks.outcomes.findLast((each) => found.some((one) => one.outcome === each))!;
    const says = found.map((one) => one.says).join(" ");
    return { check: `server ${server.name}`, outcome, says };
  });
}

async function checkServer(server: DeclaredServer, probe: checks.Probe): Promise<Finding[]> {
  if (isDisabled(server)) return [note("The file disables it, so it was not asked.")];
  const { facts, rows } = await probeDeclared(server, probe);
  const ofEntry = rows.filter(({ check }) => check === entryCheck);
  if (facts.authorization) return [judgeLocked(facts.authorization, server), ...ofEntry];
  const costs = rows.filter((row) => row.outcome === "warning" || row.outcome === "failed");
  const others = new Set([...costs, ...ofEntry]);
  if (facts.tools === undefined) return [...others];
  const who = `${facts.server?.name || "A server without a name"} ${facts.server?.version ?? ""}`;
  const is = ok(`${who.trim()}, ${count(facts.tools.names.length, "tool")}.`);
  return [is, ...judgeSession(facts, server), ...others];
}

const unkept =
  'It gives session ids, and the connection keeps none: add session: "stateful" (for an entry of a file, in overrides), or "stateless" if each step may begin anew.';

/** Whether the connection keeps what the server gives. */
function judgeSession({ handshake }: checks.Facts, { connection }: DeclaredServer): Finding[] {
  if (connection?.type !== "mcp-client") return [];
  const { session } = connection.options;
  const mode = typeof session === "object" ? session.mode : session;
  const isKept = mode === "stateful";
  if (!handshake?.hasSession)
    return isKept ? [note("It gives no session id, so there is no session to keep.")] : [];
  if (isKept) return [ok("It gives session ids, and the connection keeps its session.")];
  return mode === "stateless" ? [] : [warning(unkept)];
}

function judgeLocked(
  { wasSent, status, issuer }: checks.AuthorizationFacts,
  { connection }: DeclaredServer,
): Finding {
  if (wasSent) return failed(`It refuses the credentials given (${status}).`);
  const options = connection?.type === "mcp-client" ? connection.options : {};
  if ("auth" in options || "headers" in options)
    return note("It wants a sign-in. The connection's functions need a user, so none was called.");
  if (issuer !== undefined)
    return warning(`It wants a sign-in at ${issuer}: give the connection auth: oauth.`);
  return warning("It wants a token or a key: give the connection auth or headers.");
}
