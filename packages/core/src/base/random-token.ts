/** 96 random bits as 24 hexadecimal digits. (`crypto.randomUUID` is missing on insecure pages.) */
export function randomToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
