import type { ModelOutput } from "./placeholder.ts";
import { type Placeholder, replacePlaceholders } from "./find-placeholders.ts";

/** The result that takes the place of a placeholder, for both kinds of messages. */
export interface FilledIn {
  /** For model messages; of type `error-text` for a call that failed. */
  readonly modelOutput: ModelOutput;
  /** For UI messages. */
  readonly ui:
    | { readonly state: "output-available"; readonly output: unknown }
    | { readonly state: "output-error"; readonly errorText: string };
}

/**
 * Puts results in the places of placeholders, in model messages or UI messages. The given messages stay as they are:
 * those that change are copied, and the others are the same objects.
 *
 * @param find gives the result for a place; `undefined` if the call still waits
 */
export function fillIn<MESSAGE>(
  messages: readonly MESSAGE[],
  find: (placeholder: Placeholder) => FilledIn | undefined,
): MESSAGE[] {
  return replacePlaceholders(messages, (placeholder, part, form) => {
    const filled = find(placeholder);
    if (filled === undefined) return part;
    if (form === "model") return { ...part, output: filled.modelOutput };
    // What AI SDK itself makes of a part: either an output or an error, and nothing preliminary.
    const { output: _output, errorText: _errorText, preliminary: _preliminary, ...kept } = part;
    return { ...kept, ...filled.ui };
  });
}
