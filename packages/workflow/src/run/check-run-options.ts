import { checkKnown, invalidOption, type OptionKinds } from "@durable-mcp/core/internal";

type Options = Readonly<
  Record<"connections" | "principal" | "sessionId" | "state" | "steps" | "onUnavailable", unknown>
>;
const kinds: OptionKinds<Options> = {
  ...{ connections: "names", principal: "anything", sessionId: "text", state: "anything" },
  ...{ steps: "anything", onUnavailable: { oneOf: ["omit", "throw"] } },
};

/**
 * Checks the options of `openDurableConnections`. By hand, because workflow code carries no schemas. A
 * `state` comes from elsewhere: if it is not genuine, fresh sessions start.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function checkRunOptions(options: Partial<Options>): void {
  checkKnown(options as Options, kinds, { required: ["connections"] });
  const { sessions, call } = (options.steps ?? {}) as Record<string, unknown>;
  if (typeof sessions !== "function" || typeof call !== "function") {
    throw invalidOption("steps", "must be { sessions, call }, your step functions");
  }
}
