import type { ToolFace } from "@durable-mcp/sessions";
import { dressTool } from "../tool-set/dress-tool.ts";

/** The tools of a run as those of AI SDK, and its messages. */
export const aiSdkFace: ToolFace = {
  dress: dressTool,
  async resume(of, scope, messages, options) {
    const { resumeMessages } = await import("../messages/resume-messages.ts");
    return await resumeMessages(of, scope, messages, options as never);
  },
};
