import { timeLimited } from "@durable-mcp/core/internal";
import { createKey } from "../protocol/dpop-proof.ts";
import { discover, type Discovered } from "../protocol/discover.ts";
import { requestClientCredentials } from "../protocol/token-request.ts";
import type { GrantRecord } from "../records/grant-record.ts";
import {
  allowServer,
  asAnswer,
  isStillRight,
  type RefusedUse,
  refusedHere,
} from "./ask-for-tokens.ts";
import { enterpriseTokens } from "./enterprise-tokens.ts";
import type { OAuthContext } from "./oauth-context.ts";
import type { AskForTokens } from "./asked-tokens.ts";
import { bindingOf, isToBind } from "./token-binding.ts";
import type { AskOwn } from "./own-request.ts";
import { workloadTokens } from "./workload-tokens.ts";

/** How the principal gets tokens without a sign-in; `undefined` where it does not. */
function wayOf({ clients, enterprise, workload }: OAuthContext, { principal }: RefusedUse) {
  if (principal.type !== "app") return enterprise && enterpriseTokens(enterprise);
  const ask = workload ? workloadTokens(workload) : undefined;
  if (!clients.hasOwnTokens) return ask;
  // Its entry of `clients` says so of a server.
  const own: AskOwn = (context, request) =>
    ask && !clients.ofApplication(request.server)
      ? ask(context, request)
      : applicationTokens(context, request);
  return own;
}

/** Asks for tokens without a sign-in of the user; `undefined` where there are none. */
export function askWithoutUser(
  context: OAuthContext,
  use: RefusedUse,
  record: GrantRecord | undefined,
): AskForTokens | undefined {
  const ask = wayOf(context, use);
  if (ask === undefined) return undefined;
  return async (known) => {
    const { now, timeoutMs } = context;
    const guard = context.guard(use.url);
    const before = known && (await isStillRight(context, use, known)) ? known : undefined;
    const found: Discovered =
      before ??
      (await timeLimited(timeoutMs, undefined, (signal) =>
        discover({
          ...{ url: use.url, guard, signal, resourceMetadata: record?.needed?.resourceMetadata },
          mayUse: (issuer) => context.mayUse(issuer, use),
        }),
      ));
    allowServer(guard, found.server);
    const isTaken =
      found.takesProofs || use.refused?.challenge?.takesProofs || record?.needed?.takesProofs;
    const isBound = isToBind(context, use, found.server, isTaken || before?.key !== undefined);
    const key = isBound ? (before?.key ?? (await createKey())) : undefined;
    const dpop = bindingOf(context, use, key);
    const asked = await timeLimited(timeoutMs, undefined, (signal) =>
      ask(context, { ...found, use, record, guard, signal, dpop }),
    );
    if (asked.type !== "asked") return asked;
    const { outcome, client, scopes } = asked;
    const { server, resource } = found;
    const first = {
      server,
      clientId: client.clientId,
      resource,
      scopes,
      signedInAt: now(),
      ...(key && { key }),
    };
    const answer = asAnswer(context, use.url, outcome, {
      client,
      before: { ...first, ...before, scopes },
    });
    return answer.type === "tokens" ? { ...answer, isWhole: true } : answer;
  };
}

/** By the application's own registration. */
const applicationTokens: AskOwn = async (context, { server, resource, guard, signal, dpop }) => {
  const own = context.clients.ofApplication(server);
  if (own === undefined) return refusedHere;
  const { now } = context;
  const request = { server, ...own, resource, fetch: guard.fetch, signal, now, dpop };
  return { type: "asked", outcome: await requestClientCredentials(request), ...own };
};
