import type { ModelMessage } from "ai";

/** One call of the model, when its chat was brought to its end. */
export interface JudgedCall {
  readonly topic: string;
  /** How often the server has carried it out, or begun to. */
  readonly effects: number;
  /** What the model was told in the call's own place, or the application in the place of a step. */
  readonly told: string | undefined;
  /** Whether the conversation has the call. */
  readonly isMade: boolean;
  /** Whether the process that made it died before the call had a record, and nobody could be told. */
  readonly isLost: boolean;
  /**
   * Whether its process died after the step had ended and before the application had its messages, and a model has made
   * the call again under another id: then each is carried out.
   */
  readonly isAnother?: boolean;
  /** A person's answers that were taken: the year, or `undefined` to decline. */
  readonly answers: readonly (string | undefined)[];
  /** Whether the server asks before it is done. */
  readonly asks: boolean;
  /**
   * `all`: nothing went wrong, so it has its result. `carried out`: what went wrong leaves nothing unknown, so it has its
   * result if it was carried out. `tools`: the same, and its step has its tools. @default nothing is expected
   */
  readonly expects?: "all" | "carried out" | "tools" | undefined;
}

const result = /(?:All about|order|look) ([\w-]+)(?: in (\w+)| is done)?\b/g;
const saysUnknown =
  /(?<!sign in )is unknown|OUTCOME_UNKNOWN|outcome is unknown|is not kept any more/;
const saysUndone = /not carried out|Nothing was (?:sent|written|read)|was not sent|Nobody agreed/;

/** What must not be of a call: one line each. */
export function judgeCall(call: JudgedCall): string[] {
  const { topic, effects, told, isMade, isLost, isAnother, answers, asks, expects } = call;
  const found = told === undefined ? [] : [...told.matchAll(result)];
  const own = found.find(([, about]) => about === topic);
  const isUnknown = told !== undefined && saysUnknown.test(told);
  const isWaiting = told?.includes("This call is not done yet") ?? false;
  const isUndone = told !== undefined && saysUndone.test(told) && !isUnknown;
  const isDeclined = told?.includes("Nobody agreed") ?? false;
  const hasResult = own !== undefined && !isDeclined;
  const isSlow = own?.[0].startsWith("All about") ?? false;
  const year = own?.[2] === "undefined" ? undefined : own?.[2];
  const wrong: [boolean, string][] = [
    [expects === "all" && !hasResult, "it has no result, and nothing went wrong"],
    [
      (expects === "carried out" || expects === "tools") && effects > 0 && !hasResult,
      "it was carried out, and its result is lost",
    ],
    [
      expects === "tools" && told?.includes("unavailable tool") === true,
      "its step began without its tool",
    ],
    [effects > (isAnother ? 2 : 1), `it was carried out ${effects} times`],
    [told === undefined && !isLost && (isMade || effects > 0), "nobody was told of it"],
    [found.some(([, about]) => about !== topic), "it has the result of another call"],
    [isWaiting, "it never ends"],
    [told?.includes("Connection closed") ?? false, "it is told in its client's words"],
    [hasResult && effects === 0, "it has a result, and was not carried out"],
    [isUndone && effects > 0, "it was carried out, and what is told says that it was not"],
    [
      effects > 0 && told !== undefined && !hasResult && !isUnknown && !isUndone && !isWaiting,
      "it was carried out, and what is told does not say that this is unknown",
    ],
    [isDeclined && !answers.includes(undefined), "it was declined, and nobody has declined"],
    [
      hasResult && isSlow && asks && answers.length > 0 && !answers.includes(year),
      `the answer that was taken was lost: ${answers.join()}`,
    ],
  ];
  return wrong.flatMap(([isWrong, text]) => (isWrong ? [`${topic}: ${text}: ${told}`] : []));
}

/** What stands in the place of a call. */
export function toldOf(messages: readonly ModelMessage[], id: string): string | undefined {
  const parts = messages.flatMap(({ role, content }) => (role === "tool" ? content : []));
  const part = parts.findLast((each) => each.type === "tool-result" && each.toolCallId === id);
  return part && JSON.stringify((part as { output: unknown }).output);
}
