import { invalidOption } from "../base/check-option.ts";

/**
 * The URL of a server's endpoint.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` if it is not an http(s) URL, or has credentials in it:
 *   `fetch` would refuse them with a message that repeats them
 */
export function parseEndpointUrl(value: string | URL): URL {
  const url = URL.canParse(String(value)) ? new URL(String(value)) : undefined;
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  if (isHttp && url.username === "" && url.password === "") return url;
  throw invalidOption(
    "url",
    "must be an absolute http(s) URL without credentials. Put credentials into headers",
  );
}
