import { oneLine, createScrubber } from "@durable-mcp/core/internal";

const maxLength = 200;

/**
 * A text of an authorization server, safe to show: one line of at most 200 characters, without the secrets that were
 * sent to it.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2
 */
export function serverWords(value: unknown, secrets: readonly (string | undefined)[]): string {
  if (typeof value !== "string") return "";
  const known = secrets.filter((secret) => secret !== undefined);
  return oneLine(createScrubber(known, "[removed]")(oneLine(value, Infinity)), maxLength);
}

/** An error code of an authorization server, such as `invalid_grant`; `undefined` if it is none. */
export function errorWord(
  value: unknown,
  secrets: readonly (string | undefined)[],
): string | undefined {
  const isWord = typeof value === "string" && /^[a-z][a-z\d_.:-]{0,63}$/i.test(value);
  return isWord && serverWords(value, secrets) === value ? value : undefined;
}
