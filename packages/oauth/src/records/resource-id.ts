import { textDigest } from "@durable-mcp/core/internal";

/** Names a resource in keys, and in the link to its sign-in. */
export async function resourceIdOf(url: URL): Promise<string> {
  return (await textDigest(url.href)).slice(0, 32);
}
