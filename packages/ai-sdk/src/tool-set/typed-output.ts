import type { ClientOpener } from "@durable-mcp/sessions";
import type { FlexibleSchema } from "ai";

/**
 * The structured content of a result, or else the JSON in its text, checked with the application's `outputSchema`.
 *
 * @throws {MCPClientError} as the client of `@ai-sdk/mcp`
 */
export const typedOutput: NonNullable<ClientOpener["toOutput"]> = async (
  { structuredContent, content },
  tool,
  outputSchema,
) => {
  const { asSchema, JSONParseError, TypeValidationError } = await import("ai");
  const { validate } = asSchema(outputSchema as FlexibleSchema);
  const fail = async (what: string, cause?: unknown) => {
    const { MCPClientError } = await import("@ai-sdk/mcp");
    return new MCPClientError({ message: `Tool "${tool}" ${what}`, cause });
  };
  const check = async (value: unknown, what: string) => {
    const checked = (await validate?.(value)) ?? { success: true, value };
    if (checked.success) return checked.value;
    const cause = TypeValidationError.wrap({ value, cause: checked.error });
    throw await fail(`returned ${what} that does not match the expected outputSchema`, cause);
  };
  if (structuredContent != null) return await check(structuredContent, "structuredContent");
  const text = content?.find(({ type }) => type === "text")?.["text"];
  if (typeof text !== "string")
    throw await fail("did not return structuredContent or parseable text content");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const cause = new JSONParseError({ text, cause: error });
    throw await fail("returned content that does not match the expected outputSchema", cause);
  }
  return await check(value, "content");
};
