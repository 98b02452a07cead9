/** How deep to look. The chain may be a circle. */
const maxCauses = 10;

/** An error and its causes, those that are objects, outermost first. */
export function causesOf(error: unknown): { name?: unknown; code?: unknown }[] {
  const causes: { name?: unknown; code?: unknown }[] = [];
  let current = error;
  while (typeof current === "object" && current !== null && causes.length < maxCauses) {
    causes.push(current);
    current = (current as { cause?: unknown }).cause;
  }
  return causes;
}

/** The first code of a system error in a chain of causes, such as `ECONNREFUSED`. */
export function systemCode(error: unknown): string | undefined {
  const codes = causesOf(error).map(({ code }) => code);
  return codes.find(
    (code): code is string => typeof code === "string" && /^[A-Z][A-Z0-9_]+$/.test(code),
  );
}
