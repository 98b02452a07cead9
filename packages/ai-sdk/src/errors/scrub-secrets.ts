/** Shorter values are no secrets, and without them other words would be torn apart. */
const minLength = 8;

/**
 * Takes the values of request headers out of a server's error text, because clients quote that text
 * in their messages. A scheme such as `Bearer` may stay.
 */
export function scrubSecrets(text: string, headerValues: readonly string[]): string {
  return headerValues
    .map((value) => value.trim().replace(/^[A-Za-z]+ +/, ""))
    .filter((secret) => secret.length >= minLength)
    .reduce(
      (scrubbed, secret) =>
        scrubbed
          .replaceAll(JSON.stringify(secret).slice(1, -1), "[redacted]")
          .replaceAll(secret, "[redacted]"),
      text,
    );
}
