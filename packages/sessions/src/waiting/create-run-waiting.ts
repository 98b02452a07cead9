import type { LiveConnection } from "../connection/live-connection.ts";
import type { RunConnection } from "../connection/run-connection.ts";
import type { StepTime } from "../connection/step-time.ts";
import type { RepeatedCalls } from "./repeats.ts";
import type { OnSession, Resumption } from "./resumption.ts";
import { createWaitingUses, type RunWaiting, type WaitingParts } from "./run-waiting.ts";
import { loadWaiting } from "./stored-calls.ts";
import { mayWatch, type WaitingSource } from "./waiting-source.ts";

interface RunUses {
  /** Finds a connection for a use. */
  readonly find: (name: string) => LiveConnection;
  readonly onSession: OnSession;
  /** Has messages go on with the results of calls. @default nobody can */
  readonly resume?:
    | ((of: Resumption, messages: readonly unknown[], options: any) => Promise<object>)
    | undefined;
}

export function createRunWaiting(
  {
    connections,
    step,
    ...parts
  }: Pick<WaitingParts, "declared" | "principal" | "now"> & {
    readonly connections: readonly RunConnection[];
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
    emit: (name, event) =>
      own(name)
        ?.live()
        .emit({ ...event, connection: name }),
  });
  const repeats: RepeatedCalls = {};
  // Asked when it is used: a step may have many connections, and use none.
  const isWatching = () => connections.some(({ definition }) => mayWatch(definition));
  const news: RunWaiting["news"] = async () =>
    stored && isWatching() ? await (await import("./watches.ts")).takeNews(stored) : [];
  const of = { stored, connections, repeats, findOpen, onSession, news, signal: step.signal };
  const resumption: Resumption = {
    // Few steps begin with calls that wait: the code is loaded then.
    resume: async (conversation) =>
      await (await import("./resume-places.ts")).resumePlaces(of, conversation),
  };
  const waiting: RunWaiting = {
    ...uses,
    news,
    ...(resume && {
      resume: async (messages: readonly unknown[], options: object) =>
        await resume(resumption, messages, options),
    }),
    async find(id) {
      const { describeWaiting } = await loadWaiting();
      const found = await stored?.read(id);
      return found && { call: describeWaiting(found.call), ...found.call.answer };
    },
  };
  return { waiting, stored, repeats, resumption };
}
