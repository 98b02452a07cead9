import { createScrubber } from "@durable-mcp/core/internal";

/** Shorter values of a query, such as numbers, are no secrets. */
const minLength = 6;

/** Takes session ids and credentials, a query's too, out of a text, before it is cut or shown. */
export function createSecretScrubber(
  headers: Readonly<Record<string, string>>,
  ids: readonly string[],
  url?: URL,
): (text: string) => string {
  const queried = [...(url?.searchParams.values() ?? [])];
  // A server may repeat a token without its scheme.
  const secrets = [
    ...Object.values(headers).flatMap((value) => [value, value.split(" ").at(-1) ?? ""]),
    ...queried.filter((value) => value.length >= minLength),
  ];
  const withoutIds = createScrubber(ids, "<id>");
  const withoutSecrets = createScrubber(secrets, "<secret>");
  return (text) => withoutSecrets(withoutIds(text));
}
