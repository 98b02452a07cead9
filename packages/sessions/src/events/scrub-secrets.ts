import { createScrubber, isRecord, sameJson, scrubJson } from "@durable-mcp/core/internal";

/** Shorter values are no secrets, and without them other words would be torn apart. */
export const minLength = 6;

/** Schemes of `Authorization` after which the secret begins. */
const scheme = /^(?:Basic|Bearer|Digest|DPoP|Negotiate|Token|ApiKey) +/i;

/**
 * Makes a function that takes secrets out of the texts that a server sent, or that quote a server.
 *
 * @param values of request headers, of a URL's query or of `env`. Of `Bearer x` the secret is `x`. A value
 *   of several words is a secret as a whole, and without its first word
 */
export function secretScrubber(values: readonly string[], placeholder = "[redacted]"): Scrub {
  return createScrubber(values.flatMap(secretsIn), placeholder);
}

type Scrub = (text: string) => string;

function secretsIn(value: string): string[] {
  const trimmed = value.trim();
  const secrets = scheme.test(trimmed)
    ? [trimmed.replace(scheme, ""), ...basicCredentials(trimmed)]
    : [trimmed, trimmed.replace(/^\S+\s+/, "")];
  return secrets.filter((secret) => secret.length >= minLength);
}

/** The user and password that `Basic` encodes, and the password. */
function basicCredentials(value: string): string[] {
  const [, encoded] = /^Basic +([\w+/=-]+)$/i.exec(value) ?? [];
  if (encoded === undefined) return [];
  try {
    const credentials = atob(encoded);
    return [credentials, credentials.slice(credentials.indexOf(":") + 1)];
  } catch {
    return [];
  }
}

/** Longer chains of causes have nothing useful, or are circles. */
const maxCauses = 10;

/**
 * The error, or a copy of it without the secrets: in its message, its stack, its other properties and its
 * causes. The copy has the same class.
 */
export function scrubError(error: unknown, scrub: Scrub): unknown {
  return scrubValueOf(error, scrub, maxCauses);
}

function scrubValueOf(error: unknown, scrub: Scrub, depth: number): unknown {
  if (typeof error === "string") return scrub(error);
  if (!isRecord(error) || depth === 0) return error;
  if (Object.getPrototypeOf(error) === Object.prototype) return scrubPlain(error, scrub);
  if (typeof error["message"] !== "string") return error;
  const scrubValue = (value: unknown): unknown => {
    if (!Array.isArray(value)) return scrubValueOf(value, scrub, depth - 1);
    // The errors of an `AggregateError`, or JSON.
    const items = value.map((item) =>
      Array.isArray(item) ? scrubPlain(item, scrub) : scrubValueOf(item, scrub, depth - 1),
    );
    return items.some((item, at) => item !== value[at]) ? items : value;
  };
  const own = Object.getOwnPropertyDescriptors(error);
  let isChanged = false;
  for (const key of Reflect.ownKeys(own)) {
    const descriptor = own[key as string]!;
    // In some runtimes the stack is an accessor.
    const before: unknown = key === "stack" ? error["stack"] : descriptor.value;
    const after = scrubValue(before);
    if (after === before) continue;
    isChanged = true;
    own[key as string] = {
      value: after,
      configurable: true,
      enumerable: descriptor.enumerable ?? false,
      writable: true,
    };
  }
  if (!isChanged) return error;
  // A native error, which printers and debuggers know as one.
  const copy = Object.setPrototypeOf(new Error(), Object.getPrototypeOf(error)) as object;
  return Object.defineProperties(copy, own);
}

/** The same for a plain object, in any depth. What a server sent is JSON. */
export function scrubPlain<VALUE extends object>(value: VALUE, scrub: Scrub): VALUE {
  const copy = isCircular(value) ? value : scrubJson(value, scrub);
  return sameJson(value, copy) ? value : (copy as VALUE);
}

function isCircular(value: object): boolean {
  try {
    JSON.stringify(value);
    return false;
  } catch (error) {
    // It is a `RangeError` if the value is only too deep to be printed.
    return error instanceof TypeError;
  }
}
