import type { ToolFace } from "@durable-mcp/sessions";
import { borrowTool } from "../tool-set/borrow-tool.ts";
import { connectionTools } from "../tool-set/connection-tools.ts";
import { standInTool } from "../tool-set/stand-in-tool.ts";

/** The tools of a run as those of AI SDK, and its messages. */
export const aiSdkFace: ToolFace = {
  list: connectionTools,
  standIn: standInTool,
  borrow: borrowTool as ToolFace["borrow"],
  async resume(of, scope, messages, options) {
    const { resumeMessages } = await import("../messages/resume-messages.ts");
    return await resumeMessages(of, scope, messages, options as never);
  },
};
