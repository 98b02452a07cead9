import { invalid } from "@durable-mcp/core/internal";

/**
 * Where the user's browser goes next.
 *
 * @param given an http or https URL, or a path of the application
 * @param field what gave it, for the error
 * @throws {McpSessionError} `CONNECTION_INVALID` for anything else: a browser runs `javascript:`, and takes `//host` for
 *   another host
 */
export function nextPlace(given: string | URL, field: string, application: URL): URL {
  const text = String(given);
  const url = URL.canParse(text, application) ? new URL(text, application) : undefined;
  const isWhole = /^\s*https?:\/\//i.test(text);
  if (url && (isWhole || url.origin === application.origin)) return url;
  throw invalid(field, `${field} must be an http or https URL, or a path of the application.`);
}
