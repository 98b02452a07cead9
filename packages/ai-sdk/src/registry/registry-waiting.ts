import type { Principal } from "@durable-mcp/core";
import type { StoredCall } from "@durable-mcp/core/waiting/internal";
import { checkOptions } from "../base/check-options.ts";
import { pausingInput } from "../connection/input-options.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { Connections } from "../connection/mcp-connection.ts";
import { pendingSignIns } from "../connection/pending-sign-ins.ts";
import {
  createStoredCalls,
  isOpen,
  loadWaiting,
  refuseAnswer,
} from "../connection/stored-calls.ts";
import type { WaitingSource } from "../connection/waiting-source.ts";
import { fillIn } from "../waiting/fill-in.ts";
import { findResults, placesIn } from "./find-results.ts";
import { resumeParked } from "./resume-parked.ts";
import { answerSchema, resumeSchema } from "./option-schemas.ts";
import type { WaitingRegistry } from "./waiting-registry.ts";

/** The parts of a registry that its waiting calls need. */
interface WaitingParts {
  readonly declared: Readonly<Connections>;
  readonly connections: readonly LiveConnection[];
  readonly principal: Principal | undefined;
  readonly waiting?: WaitingSource | undefined;
  readonly now: () => number;
}

/** @param find finds a connection for a use */
export function createRegistryWaiting(
  { connections, declared: definitions, principal, waiting: source, now }: WaitingParts,
  find: (name: string) => LiveConnection,
): WaitingRegistry {
  const declared = (name: string) => connections.find((each) => each.name === name);
  const findOpen = (name: string) => declared(name) && find(name);
  const stored =
    source &&
    createStoredCalls({
      ...{ source, principal, now },
      limitsOf: (name) => pausingInput(declared(name)?.definition.options ?? {}),
      emit: (name, event) => declared(name)?.emit({ ...event, connection: name }),
    });
  const read = async (id: string): Promise<StoredCall> => {
    const found = await stored?.read(id);
    if (found !== undefined) return found;
    const { notWaiting } = await loadWaiting();
    throw notWaiting(undefined);
  };

  return {
    async list() {
      const [signIns, calls] = await Promise.all([
        pendingSignIns(definitions, principal, source?.sessionId),
        stored?.list(),
      ]);
      return [...signIns, ...(calls ?? [])];
    },
    async find(id) {
      const { answered } = await loadWaiting();
      const found = await stored?.read(id);
      return found && answered(found.call);
    },
    async answer(id, responses, options = {}) {
      const { round, abortSignal: signal } = checkOptions(answerSchema, options);
      const { describeWaiting, notPausing } = await loadWaiting();
      const { call } = await read(id);
      const { pausing, signIn } = find(call.connection);
      await refuseAnswer(call, async () => await signIn?.pending());
      if (pausing === undefined) throw notPausing(call);
      return describeWaiting(await pausing.answer(call, responses, { round, signal }));
    },
    async withdraw(id) {
      await read(id);
      return await stored!.withdraw(id);
    },
    async resume(messages, options) {
      const { tools } = checkOptions(resumeSchema, options);
      const { calls, filled } = await findResults(stored, tools, placesIn(messages), (...call) =>
        resumeParked({ stored: stored!, find: findOpen }, ...call),
      );
      const inOrder = filled.values();
      return {
        messages: fillIn(messages, () => inOrder.next().value),
        stillWaiting: calls.filter((call) => isOpen({ call })),
        resumed: calls.filter((call) => !isOpen({ call })),
      };
    },
  };
}
