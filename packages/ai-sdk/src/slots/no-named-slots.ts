import { McpSessionError } from "@durable-mcp/core";
import type { NamedSlots } from "./named-slots.ts";

/** For registries that belong to no agent session, where nothing lasts under a name. */
export const noNamedSlots: NamedSlots = {
  open: refuse,
  list: refuse,
  end: refuse,
  clearTools: refuse,
  endIdle: () => undefined,
  endStep: () => Promise.resolve(),
};

async function refuse(): Promise<never> {
  throw new McpSessionError(
    "CONNECTION_INVALID",
    "This registry belongs to no agent session, so that nothing lasts under a name. Open a run of an agent session.",
    { data: { field: "named" } },
  );
}
