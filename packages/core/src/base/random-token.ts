let pool = new Uint32Array(0);
let used = 0;

/**
 * 96 random bits as 24 hexadecimal digits. (`crypto.randomUUID` is missing on insecure pages.) They come from a
 * pool of 4 KiB: to ask the system for each token costs more than all the rest. The first token fills it, because
 * some edge runtimes have no randomness before the first request.
 */
export function randomToken(): string {
  return word() + word() + word();
}

function word(): string {
  if (used === pool.length) {
    pool = crypto.getRandomValues(new Uint32Array(1_024));
    used = 0;
  }
  used += 1;
  return pool[used - 1]!.toString(16).padStart(8, "0");
}
