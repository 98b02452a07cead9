import type { Principal } from "@durable-mcp/core";
import type { StoredCall } from "@durable-mcp/core/waiting/internal";
import { checkOptions } from "../base/check-options.ts";
import { pausingInput } from "../connection/input-options.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { createStoredCalls, isOpen, loadWaiting } from "../connection/stored-calls.ts";
import type { WaitingSource } from "../connection/waiting-source.ts";
import { fillIn } from "../waiting/fill-in.ts";
import { findResults, placesIn } from "./find-results.ts";
import { answerSchema, resumeSchema } from "./option-schemas.ts";
import type { WaitingRegistry } from "./waiting-registry.ts";

/** The parts of a registry that its waiting calls need. */
interface WaitingParts {
  readonly connections: readonly LiveConnection[];
  readonly principal: Principal | undefined;
  readonly waiting?: WaitingSource | undefined;
  readonly now: () => number;
}

/** @param find finds a connection for a use */
export function createRegistryWaiting(
  { connections, principal, waiting: source, now }: WaitingParts,
  find: (name: string) => LiveConnection,
): WaitingRegistry {
  const declared = (name: string) => connections.find((each) => each.name === name);
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
    list: async () => (await stored?.list()) ?? [],
    async find(id) {
      const { answered } = await loadWaiting();
      const found = await stored?.read(id);
      return found && answered(found.call);
    },
    async answer(id, responses, options = {}) {
      const { round, abortSignal: signal } = checkOptions(answerSchema, options);
      const { describeWaiting, notPausing } = await loadWaiting();
      const { call } = await read(id);
      const { pausing } = find(call.connection);
      if (pausing === undefined) throw notPausing(call);
      return describeWaiting(await pausing.answer(call, responses, { round, signal }));
    },
    async withdraw(id) {
      await read(id);
      return await stored!.withdraw(id);
    },
    async resume(messages, options) {
      const { tools } = checkOptions(resumeSchema, options);
      const { calls, filled } = await findResults(stored, tools, placesIn(messages));
      const inOrder = filled.values();
      return {
        messages: fillIn(messages, () => inOrder.next().value),
        stillWaiting: calls.filter((call) => isOpen({ call })),
        resumed: calls.filter((call) => !isOpen({ call })),
      };
    },
  };
}
