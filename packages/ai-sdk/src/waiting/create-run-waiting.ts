import type { ToolSet } from "ai";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { StepTime } from "../connection/step-time.ts";
import type { RepeatedCalls } from "./repeats.ts";
import type { OnSession } from "./resume-messages.ts";
import { createWaitingUses, type RunWaiting, type WaitingParts } from "./run-waiting.ts";
import { loadWaiting } from "./stored-calls.ts";
import type { WaitingSource } from "./waiting-source.ts";

interface RunUses {
  /** Finds a connection for a use. */
  readonly find: (name: string) => LiveConnection;
  readonly onSession: OnSession;
  /** Gives tools for an agent of the run. */
  readonly bind: <TOOLS extends ToolSet>(tools: TOOLS) => Promise<TOOLS>;
}

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
  { find, onSession, bind }: RunUses,
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
      const of = { stored, connections, repeats, findOpen, onSession, bind, signal: step.signal };
      return await resumeMessages(of, messages, options);
    },
  };
  return { waiting, stored, repeats };
}
