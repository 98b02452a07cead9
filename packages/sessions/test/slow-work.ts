import { answer } from "./notebook-server.ts";

/** One call of the tool `research`. */
export interface Work {
  readonly topic: string;
  state: "working" | "asking" | "done" | "stopped";
  /** What a person has answered. */
  year?: string | undefined;
  /** Resolves with the next change of its state. */
  readonly changed: () => Promise<void>;
  readonly set: (state: Work["state"]) => void;
}

/** What a server of either era needs of the work. */
export interface SlowParts {
  readonly begin: (topic: string) => Work;
  readonly ttlMs: number;
  /** Whether its calls end with their requests: without tasks, and without event ids. @default false */
  readonly isPlain?: boolean | undefined;
}

/** How often a task may be looked at, in milliseconds. */
export const pollMs = 200;

export const question = {
  message: "Which year?",
  requestedSchema: {
    type: "object" as const,
    properties: { year: { type: "string" as const } },
    required: ["year"],
  },
};

export const resultOf = ({ topic, year }: Work) =>
  answer(`All about ${topic}${year === undefined ? "" : ` in ${year}`}.`);

export function createWork(topic: string): Work {
  let listeners: (() => void)[] = [];
  const work: Work = {
    ...{ topic, state: "working" },
    changed: () => new Promise((resolve) => void listeners.push(resolve)),
    set(state) {
      work.state = state;
      const told = listeners;
      listeners = [];
      for (const tell of told) tell();
    },
  };
  return work;
}
