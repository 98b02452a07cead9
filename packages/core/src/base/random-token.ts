/** 96 random bits as 24 hexadecimal digits. (`crypto.randomUUID` is missing on insecure pages.) */
export function randomToken(): string {
  const words = crypto.getRandomValues(new Uint32Array(3));
  return Array.from(words, (word) => word.toString(16).padStart(8, "0")).join("");
}
