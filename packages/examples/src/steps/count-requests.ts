import { subscribe } from "node:diagnostics_channel";

/**
 * Counts the HTTP requests that this process sends to a server's origin. Node's `fetch` announces
 * each one as it goes out, so nothing that sits in front of `fetch` can hide or invent one.
 *
 * @returns a function that tells the count so far
 */
export function countRequests(url: string): () => number {
  const { origin } = new URL(url);
  let count = 0;
  subscribe("undici:request:create", (message) => {
    const { request } = message as { request: { origin: string | URL } };
    if (new URL(request.origin).origin === origin) count += 1;
  });
  return () => count;
}
