/** What the environment says. It is read when it is needed, for a build has none. */
export function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set. .env.example says what it is.`);
  return value;
}
