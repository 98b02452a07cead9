import type { AnswerProblem } from "./question.tsx";
import { canPass, failureOf, silence } from "./retry.ts";

/**
 * A `fetch` that throws why a request is refused, in words for people: those of the route, which are `message` and
 * `field` of its JSON. What else comes is a gateway's.
 */
export const refusing =
  (fetch: typeof globalThis.fetch = globalThis.fetch): typeof globalThis.fetch =>
  async (...request) => {
    const response = await fetch(...request);
    if (response.ok) return response;
    const { status } = response;
    const said: unknown = await response.json().catch(() => undefined);
    const { message, field } = Object(said) as { message?: unknown; field?: unknown };
    const ours = canPass(status) ? silence : "The server refused it.";
    const error = new Error(typeof message === "string" ? message : ours);
    throw Object.assign(error, { status, field });
  };

/** Why an answer did not reach its server. */
export function problemOf(thrown: AnswerProblem): AnswerProblem {
  const { message, field } = thrown;
  if (failureOf(thrown)?.isPassing) return { message: `${silence} Press again.` };
  return { message, field };
}
