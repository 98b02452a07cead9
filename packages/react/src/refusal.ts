import type { AnswerProblem } from "./question.tsx";
import { failureOf, isPassing } from "./retry.ts";

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
    const { message, field } = readProblem(await response.text());
    const said = typeof message === "string" ? message : undefined;
    const ours = isPassing(status)
      ? "The server does not answer right now."
      : "The server refused this.";
    const error = new Error(said ?? ours);
    throw Object.assign(error, { status, field, isSaid: said !== undefined });
  };

function readProblem(text: string): { message?: unknown; field?: unknown } {
  try {
    return Object(JSON.parse(text)) as object;
  } catch {
    return {};
  }
}

/** Why an answer did not reach its server. */
export function problemOf(thrown: Error & { field?: unknown; isSaid?: unknown }): AnswerProblem {
  const { message, field, isSaid } = thrown;
  const isLost = isSaid !== true && failureOf(thrown)?.isPassing === true;
  if (isLost) return { message: "This did not get through. Press again." };
  return { message, field: typeof field === "string" ? field : undefined };
}
