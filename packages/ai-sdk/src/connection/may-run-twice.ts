import { isRecord } from "@durable-mcp/core/internal";
import type { JudgedTool } from "./call-envelope.ts";
import type { ConnectionResend } from "./connection-options.ts";

/** Whether the application allows that calls of this tool run twice. */
export function mayRunTwice(
  { name, annotations }: JudgedTool,
  resend: ConnectionResend = "safe",
): boolean {
  if (typeof resend === "string") return resend === "always";
  if (typeof resend !== "function") return resend.includes(name);
  return resend({ name, annotations: isRecord(annotations) ? annotations : undefined });
}
