/** The answer of DynamoDB, or an error with a code: `ThrottlingException` has `THROTTLING`. */
export async function answered<T>(sent: Promise<T>): Promise<T> {
  try {
    return await sent;
  } catch (error) {
    const name = nameOf(error).replace(/(Exception|Error)$/, "");
    if (name === "") throw error;
    const code = name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
    throw Object.assign(new Error(`DynamoDB: ${code}`, { cause: error }), { code });
  }
}

/** Whether it was done; false if it was refused for this reason: by default, a condition that does not hold. */
export async function isDone(
  sent: Promise<unknown>,
  reason = "ConditionalCheckFailedException",
): Promise<boolean> {
  try {
    await answered(sent);
    return true;
  } catch (error) {
    if (nameOf((error as Error).cause) === reason) return false;
    throw error;
  }
}

function nameOf(error: unknown): string {
  const { name } = (error ?? {}) as { readonly name?: unknown };
  return typeof name === "string" ? name : "";
}

/** Options for one request. What waits to be sent again when the time is up is not. */
export function withSignal(signal: AbortSignal | undefined): {
  readonly abortSignal?: AbortSignal;
} {
  return signal === undefined ? {} : { abortSignal: signal };
}
