const secretName = /key|token|secret|passw|pwd|credential|auth|bearer|cookie|session/i;
/** `--api-key=value`, `TOKEN=value`, `Authorization: value`. */
const assignment = /^-{0,2}([\w.-]+)\s*[=:]\s*(.+)$/s;

/**
 * The parts of a server's environment and arguments that are never quoted: each value of `env`, and the
 * arguments that name themselves secret. The password of a URL, and each line of a value, count too.
 */
export function secretValues(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): string[] {
  const secrets = [...Object.values(env), ...args.flatMap(secretArguments)];
  const parts = secrets.flatMap((secret) => secret.split(/\r?\n/));
  return [...new Set([...secrets, ...parts, ...[...secrets, ...args].flatMap(secretsOfUrl)])];
}

function secretArguments(argument: string, index: number, all: readonly string[]): string[] {
  const [, name = "", value = ""] = assignment.exec(argument) ?? [];
  if (secretName.test(name)) return [value];
  const before = all[index - 1] ?? "";
  return /^--?[\w.-]+$/.test(before) && secretName.test(before) ? [argument] : [];
}

function secretsOfUrl(text: string): string[] {
  if (!text.includes("://") || !URL.canParse(text)) return [];
  const { password, searchParams } = new URL(text);
  const fields = [...searchParams].filter(([name]) => secretName.test(name));
  return [password, decoded(password), ...fields.map(([, value]) => value)].filter(Boolean);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
