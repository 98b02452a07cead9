import type { WorkloadOptions } from "../base/assertion-options.ts";
import { requestByAssertion } from "../protocol/assertion-grant.ts";
import { denied, notText, textOf, withoutClient, withoutRefresh } from "./application-answers.ts";
import type { AskOwn } from "./own-request.ts";

/** The application's own tokens, by the identity that its platform gives to this job. */
export function workloadTokens({ assertion: tell }: WorkloadOptions): AskOwn {
  return async (context, { use, server, resource, guard, signal, dpop }) => {
    const own = context.clients.ofWorkload(server);
    if (own === undefined) return withoutClient(use, server, "workload");
    const field = "workload.assertion";
    const assertion = await textOf(use, field, signal, () =>
      tell({ audience: server.issuer, abortSignal: signal }),
    );
    if (assertion === undefined) return notText(use, field);
    if (typeof assertion === "object") return assertion;
    const { now } = context;
    const request = { server, ...own, resource, assertion, fetch: guard.fetch, signal, now, dpop };
    const outcome = await requestByAssertion(request);
    // Nobody can sign in for a job: its operator has to know what the server says.
    if (outcome.type === "refused") return denied(use, server.issuer, outcome);
    return { type: "asked", outcome: withoutRefresh(outcome), ...own };
  };
}
