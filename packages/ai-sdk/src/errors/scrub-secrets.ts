/** Shorter values are no secrets, and taking them out would tear other words apart. */
const minLength = 8;

/**
 * Takes the values of request headers out of a server's error text, which clients put into error
 * messages. Of `Bearer …` and its like, the scheme may stay.
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
