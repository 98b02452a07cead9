import { coreWith } from "./broken-parts.ts";

/** The module with the store of waiting calls, with parts of each store replaced. */
const withStore = (broken: (original: any) => object) =>
  coreWith("waiting/record/waiting-store.ts", ({ createWaitingStore }) => ({
    createWaitingStore: (...args: unknown[]) => {
      const original = createWaitingStore(...args);
      return { ...original, ...broken(original) };
    },
  }));

/** Whoever wants to answer sends. */
export const withoutClaim = () =>
  withStore((original) => ({
    replace: async (stored: object, next: { state: string }) =>
      next.state === "answering" ? stored : await original.replace(stored, next),
  }));

/** Changes overwrite whatever is there. */
export const withoutCompareAndSet = () =>
  withStore((original) => ({
    replace: async ({ call, revision }: any, next: object) => {
      const current = await original.read(call.id);
      return await original.replace({ call, revision: current?.revision ?? revision }, next);
    },
  }));

/** The client learns of the question at once, and the record is written meanwhile. */
export const withHastyAnswers = () =>
  withStore((original) => ({
    create: async (call: object) => {
      original.create(call).catch(() => undefined);
      return { call, revision: "" };
    },
  }));

/** A round whose server sends no state keeps that of the round before. */
export const withOldState = () =>
  coreWith("waiting/record/waiting-life.ts", (original) => ({
    asks: (before: { requestState?: string }, ...args: unknown[]) => ({
      ...original.asks(before, ...args),
      ...(before.requestState !== undefined && { requestState: before.requestState }),
    }),
  }));

/** The questions of a call wait again when its process is gone, whatever the tool. */
export const withOptimism = () =>
  coreWith("waiting/claims/current-call.ts", (original) => ({
    ...original,
    mayRunTwice: () => true,
  }));

/** @param claimMs how long a claim lasts without a sign of life */
const withClaimsOf = (claimMs: number) =>
  coreWith("waiting/claims/waiting-context.ts", (original) => ({
    createWaitingContext: (calls: object, options: object) =>
      original.createWaitingContext(calls, { ...options, claimMs }),
  }));

/** Claims last no time. */
export const withoutLease = () => withClaimsOf(3);

/** Claims last for ever. */
export const withEndlessClaims = () => withClaimsOf(1e15);

/** What became of a leg is told, and written later. */
export const withHastyEnds = () =>
  withStore((original) => ({
    replace: async (stored: any, next: object) => {
      const writing = original.replace(stored, next);
      if (stored.call.state !== "answering") return await writing;
      writing.catch(() => undefined);
      return { call: next, revision: "" };
    },
  }));

/** Calls belong to the agent session alone. */
export const withoutPrincipal = () =>
  withKey(
    (original) => (owner: object, id: string) =>
      original({ ...owner, principal: { type: "app" } }, id),
  );

const withKey = (broken: (original: any) => unknown) =>
  coreWith("waiting/record/waiting-key.ts", ({ waitingKeys }) => ({
    waitingKeys: { ...waitingKeys, of: broken(waitingKeys.of) },
  }));

/** What can be looked at is looked at, whatever its server asks for. */
export const withEagerLooks = () =>
  coreWith("waiting/record/waiting-life.ts", (original) => ({
    goesOn: (...args: unknown[]) => ({ ...original.goesOn(...args), pollAfter: 0 }),
  }));

/** Results lose their content on the way into the store. */
export const withLostContents = () =>
  coreWith("waiting/record/waiting-life.ts", (original) => ({
    settles: (call: object, answer: { result?: object }) =>
      original.settles(call, {
        ...answer,
        ...(answer.result && { result: { ...answer.result, content: [] } }),
      }),
  }));

/** Applications see the record. */
export const withTheWholeRecord = () =>
  coreWith("waiting/record/describe-waiting.ts", (original) => ({
    describeWaiting: (record: object) => ({ ...record, ...original.describeWaiting(record) }),
  }));
