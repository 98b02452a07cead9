import { createScrubber } from "@durable-mcp/core/internal";

/** Takes session ids and credentials out of a text, before it is cut or shown. */
export function createSecretScrubber(
  headers: Readonly<Record<string, string>>,
  ids: readonly string[],
): (text: string) => string {
  // A server may repeat a token without its scheme.
  const secrets = Object.values(headers).flatMap((value) => [value, value.split(" ").at(-1) ?? ""]);
  const withoutIds = createScrubber(ids, "<id>");
  const withoutSecrets = createScrubber(secrets, "<secret>");
  return (text) => withoutSecrets(withoutIds(text));
}
