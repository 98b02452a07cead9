import type { KeptAs, LiveConnection } from "../connection/live-connection.ts";
import type { StepTime } from "../connection/step-time.ts";
import type { RepeatedCalls } from "./repeats.ts";
import { createWaitingUses, type RunWaiting, type WaitingParts } from "./run-waiting.ts";
import { loadWaiting, type StoredCalls } from "./stored-calls.ts";
import type { WaitingSource } from "./waiting-source.ts";

/** What a resumption of messages needs of its run. */
export interface ResumeParts {
  readonly stored: StoredCalls | undefined;
  readonly connections: readonly LiveConnection[];
  readonly repeats: RepeatedCalls;
  /** A connection for a use; `undefined` for one that is not the run's. */
  readonly findOpen: (name: string) => LiveConnection | undefined;
  readonly onSession: OnSession;
  readonly signal: AbortSignal;
}

/** Calls `use` with a connection on its named or shared session. */
export type OnSession = <T>(
  connection: string,
  session: KeptAs,
  use: (found: LiveConnection) => Promise<T>,
) => Promise<T>;

interface RunUses {
  /** Finds a connection for a use. */
  readonly find: (name: string) => LiveConnection;
  readonly onSession: OnSession;
  /** Has messages go on with the results of calls. @default nobody can */
  readonly resume?:
    | ((of: ResumeParts, messages: readonly unknown[], options: any) => Promise<object>)
    | undefined;
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
  { find, onSession, resume }: RunUses,
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
  const of = { stored, connections, repeats, findOpen, onSession, signal: step.signal };
  const waiting: RunWaiting = {
    ...uses,
    ...(resume && {
      resume: async (messages: readonly unknown[], options: object) =>
        await resume(of, messages, options),
    }),
    async find(id) {
      const { answered } = await loadWaiting();
      const found = await stored?.read(id);
      return found && answered(found.call);
    },
  };
  return { waiting, stored, repeats };
}
