import { base64url, macOfSession } from "../base/session-id.ts";

/** A handle: 256 bits as base64url. Any other text names no state. */
const handleForm = /^[\w-]{43}$/;

const encoder = new TextEncoder();

/** A new handle, from the platform's CSPRNG. */
export function mintHandle(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

/** The handle of a session's own state. The session id cannot be computed from it. */
export function handleOfSession(sessionId: string): Promise<string> {
  return macOfSession(sessionId, "durable-mcp state handle of a session");
}

/** The name of a handle's state in the store, from which the handle cannot be computed. */
export async function hashHandle(handle: unknown): Promise<string | undefined> {
  if (typeof handle !== "string" || !handleForm.test(handle)) return undefined;
  return await hash(`durable-mcp state handle\n${handle}`);
}

/** The name of a principal's state in the store. */
export function hashOwner(owner: string): Promise<string> {
  return hash(`durable-mcp state of a principal\n${owner}`);
}

async function hash(text: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text))));
}
