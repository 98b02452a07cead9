import { runStep, type StepFigures } from "./step-process.ts";

/** Who makes a step. */
export interface Contender {
  readonly name:
    | "durable"
    | "run.call alone"
    | "with generateText"
    | "bare"
    | "bare, with generateText"
    | "bare, no DELETE"
    | "own session options";
  readonly program: string;
  /** Whether each step goes on in the session of the one before. */
  readonly isResuming: boolean;
  readonly args: readonly string[];
}

export const contenders: readonly Contender[] = [
  { name: "durable", program: "durable.js", isResuming: true, args: [] },
  { name: "run.call alone", program: "call.js", isResuming: true, args: [] },
  { name: "with generateText", program: "durable.js", isResuming: true, args: ["model"] },
  { name: "bare", program: "bare.js", isResuming: false, args: [] },
  {
    name: "bare, with generateText",
    program: "bare.js",
    isResuming: false,
    args: ["end", "model"],
  },
  { name: "bare, no DELETE", program: "bare.js", isResuming: false, args: ["leave"] },
  { name: "own session options", program: "own-session.js", isResuming: true, args: [] },
];

/** What its steps share: a server's address, the file of what is kept, and Node's compile cache. */
export interface StepPlace {
  readonly url: string;
  readonly folder: string;
  readonly hasCompileCache: boolean;
}

/**
 * Makes the steps of a contender, each in a process of its own. What the server's tool says of its session is compared:
 * a step that was to be resumed and was not is no figure.
 */
export function createStepper({ name, program, args, isResuming }: Contender, place: StepPlace) {
  const file = `${place.folder}/${name}`;
  let steps = 0;
  return async (isCounting = false): Promise<StepFigures> => {
    const figures = await runStep({
      program,
      args: [place.url, ...(isResuming ? [file] : []), ...args],
      compileCache: place.hasCompileCache ? `${file} compiled` : undefined,
      isCounting,
    });
    steps += 1;
    const expected = String(isResuming ? steps : 1);
    if (figures.said === expected) return figures;
    throw new Error(`${name}: call ${expected} of the session was call ${figures.said}.`);
  };
}
