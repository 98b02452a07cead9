import { McpSessionError } from "@durable-mcp/core";
import { abortable } from "@durable-mcp/core/internal";
import type { AuthorizationServer } from "../protocol/authorization-server.ts";
import type { ResourceUse } from "./authorization-required.ts";
import type { TokenOutcome } from "../protocol/token-request.ts";
import type { Denied } from "./asked-tokens.ts";

/** The error for tokens that cannot be had in this way, whoever signs in. */
function notGiven(
  { connection, url }: ResourceUse,
  why: string,
  more: { readonly field?: string; readonly cause?: unknown } = {},
): Denied {
  const { cause, ...data } = more;
  const error = new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: ${why} The request was not carried out.`,
    { data: { connection, origin: url.origin, reason: "authorization-required", ...data }, cause },
  );
  return { type: "denied", error };
}

/** A server's own words for its refusal, which another try would not change. */
export function denied(
  use: ResourceUse,
  issuer: string,
  { error, description }: { readonly error: string; readonly description: string },
): Denied {
  const words = description === "" ? error : `${error} (${description})`;
  return notGiven(use, `${new URL(issuer).origin} gave no token: ${words}.`);
}

/** There is no registration by hand, and the server takes no metadata document. */
export function withoutClient(
  use: ResourceUse,
  { issuer }: AuthorizationServer,
  field: "enterprise" | "workload",
): Denied {
  const { origin } = new URL(issuer);
  const why = `there is no registration at ${origin}, which ${field} needs. Add one with its issuer to clients.`;
  return notGiven(use, why, { field: "clients" });
}

/** Only the company's login may be used, and the MCP server does not offer it. */
export function notOffered(use: ResourceUse, issuer: string, provider: string): Denied {
  const [server, company] = [issuer, provider].map((each) => new URL(each).origin);
  const why = `${server} does not take users by the login of ${company}, and enterprise.isRequired allows no other way.`;
  return notGiven(use, why, { field: "enterprise.isRequired" });
}

/** Without a refresh token: who vouches is asked again instead, and can end the access. */
export function withoutRefresh(outcome: TokenOutcome): TokenOutcome {
  if (outcome.type !== "tokens") return outcome;
  return { ...outcome, tokens: { ...outcome.tokens, refreshToken: undefined } };
}

/** What a function of the application says: a text, or why there is none. */
export async function textOf(
  use: ResourceUse,
  field: string,
  signal: AbortSignal,
  tell: () => unknown,
): Promise<string | undefined | Denied> {
  let given: unknown;
  try {
    given = await abortable(Promise.resolve().then(tell), signal);
  } catch (cause) {
    return notGiven(use, `${field} failed; see the cause.`, { field, cause });
  }
  if (given === undefined || (typeof given === "string" && given !== "")) return given;
  return notText(use, field);
}

export function notText(use: ResourceUse, field: string): Denied {
  return notGiven(use, `${field} must return a token, as a text.`, { field });
}
