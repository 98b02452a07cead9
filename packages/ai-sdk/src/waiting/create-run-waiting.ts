import type { ToolSet } from "ai";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { StepTime } from "../connection/step-time.ts";
import type { RepeatedCalls } from "./repeats.ts";
import { createWaitingUses, type RunWaiting, type WaitingParts } from "./run-waiting.ts";
import { loadWaiting } from "./stored-calls.ts";
import type { WaitingSource } from "./waiting-source.ts";

/**
 * @param find finds a connection for a use
 * @param bind gives tools for an agent of the run
 */
export function createRunWaiting(
  {
    connections,
    step,
    ...parts
  }: Pick<WaitingParts, "declared" | "principal" | "now"> & {
    readonly connections: readonly LiveConnection[];
    readonly step: StepTime;
    readonly waiting?: WaitingSource | undefined;
  },
  find: (name: string) => LiveConnection,
  bind: <TOOLS extends ToolSet>(tools: TOOLS) => Promise<TOOLS>,
) {
  const own = (name: string) => connections.find((each) => each.name === name);
  const findOpen = (name: string) => own(name) && find(name);
  const { stored, ...uses } = createWaitingUses({
    ...parts,
    source: parts.waiting,
    find: findOpen,
    emit: (name, event) => own(name)?.emit({ ...event, connection: name }),
  });
  const repeats: RepeatedCalls = {};
  const waiting: RunWaiting = {
    ...uses,
    async find(id) {
      const { answered } = await loadWaiting();
      const found = await stored?.read(id);
      return found && answered(found.call);
    },
    async resume(messages, options) {
      const { resumeMessages } = await import("./resume-messages.ts");
      const of = { stored, connections, repeats, findOpen, bind, signal: step.signal };
      return await resumeMessages(of, messages, options);
    },
  };
  return { waiting, stored, repeats };
}
