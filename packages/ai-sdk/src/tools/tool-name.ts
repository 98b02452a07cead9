/** Model providers accept up to 64 characters of `[A-Za-z0-9_-]`. */
const maxLength = 64;
const hashLength = 8;

/**
 * The name under which a tool is offered to the model: `<connection>__<tool>`. One that is too
 * long or has other characters is shortened, and ends in a hash of both names, so that it depends
 * on nothing else and approvals find it again in a later step.
 */
export async function toolName(connection: string, tool: string): Promise<string> {
  const name = `${connection}__${tool}`;
  const valid = name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  if (valid === name && name.length <= maxLength) return name;
  return `${valid.slice(0, maxLength - hashLength - 1)}_${await hash(JSON.stringify([connection, tool]))}`;
}

async function hash(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0"));
  return hex.join("").slice(0, hashLength);
}
