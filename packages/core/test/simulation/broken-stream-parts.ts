import { coreWith } from "./broken-parts.ts";

/** Streams are asked for without the event from which they go on. */
export const withoutLastEventId = () =>
  coreWith("waiting/legs/held-request.ts", (original) => ({
    sendAbout: (call: object, about: object, leg: object) =>
      original.sendAbout(call, { ...about, headers: undefined }, leg),
  }));

/** An answer of which it is not known whether it came is sent again, before its stream is read. */
export const withInsistentAnswers = () =>
  coreWith("waiting/legs/unsure-answers.ts", (original) => ({
    answerAsked: (call: object, responses: object, leg: { fetch: typeof fetch }) =>
      original.answerAsked(call, responses, {
        ...leg,
        fetch: async (input: string, init: RequestInit) => {
          const send = async () => await leg.fetch(input, init);
          const response = await send().catch(send);
          return response.status < 500 ? response : await send();
        },
      }),
  }));

/** What clients say when they leave a call reaches the server, which stops it. */
export const withGoodbyes = () =>
  coreWith("waiting/steps/session-calls.ts", ({ createSessionCalls }) => ({
    createSessionCalls: (context: object) => ({
      ...createSessionCalls(context),
      withhold: () => undefined,
    }),
  }));

/** No record is written before its call. */
export const withLateRecords = () =>
  coreWith("waiting/claims/waiting-context.ts", ({ createWaitingContext }) => ({
    createWaitingContext: (calls: object, options: object) =>
      createWaitingContext(calls, { ...options, record: "late" }),
  }));
