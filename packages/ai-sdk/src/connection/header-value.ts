/**
 * Whether `fetch` accepts the value in a header. Its error for other values repeats them, and they
 * may be secret.
 */
export function isHeaderValue(value: unknown): value is string {
  if (typeof value !== "string") return false;
  const normalized = value.replaceAll(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  return /^[\t\x20-\x7E\x80-\xFF]*$/.test(normalized);
}
