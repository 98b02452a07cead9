import { type StatefulSessionOptions, toolMayRunTwice } from "@durable-mcp/ai-sdk";

/** Whether a call of this tool may be made again when nobody knows what became of it. */
export function mayRunAgain(
  tool: { readonly name: string; readonly annotations?: unknown },
  { resend = "safe", ...options }: Omit<StatefulSessionOptions, "mode"> = {},
): boolean {
  if (resend !== "safe") return resend === "always";
  return toolMayRunTwice(tool, options);
}
