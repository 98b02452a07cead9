/** What may take the answer of a call away, and from when to when, in the milliseconds of `performance.now()`. */
interface Trouble {
  readonly what: "kill" | "freeze" | "server";
  /** Which process; all for the server. */
  readonly process?: number;
  readonly from: number;
  to: number;
}

/** Why a call may have an unknown outcome. All others are faults of the gateway. */
const causes = {
  kill: "the process that had sent it was killed",
  freeze: "the process that had sent it was frozen",
  server: "the server was stopped in the call",
} as const;

export type UnknownCause = (typeof causes)[Trouble["what"]] | "nothing: unexplained";

/** Keeps what was done to processes and the server, and which process had which call. */
export function createTroubles() {
  const troubles: Trouble[] = [];
  const processOf = new Map<string, number>();
  return {
    /** Notes a trouble while it lasts. */
    async during(trouble: Pick<Trouble, "what" | "process">, work: () => Promise<void>) {
      const noted = { ...trouble, from: performance.now(), to: Infinity };
      troubles.push(noted);
      await work();
      noted.to = performance.now();
    },
    /** Notes which process gets a call, from a request that a client sends. */
    noteSent(process: number, body: unknown): void {
      const [, text] = (typeof body === "string" && /"text":"([^"]+)"/.exec(body)) || [];
      if (text !== undefined) processOf.set(text, process);
    },
    /** Why the outcome of a call is unknown, which was made at `from` and told at `to`. */
    causeOf(text: string, from: number, to: number): UnknownCause {
      const met = troubles.filter((each) => each.from < to && each.to > from);
      const own = met.filter(({ process = processOf.get(text) }) => process === processOf.get(text));
      const first = (["kill", "server", "freeze"] as const).find((what) =>
        own.some((each) => each.what === what),
      );
      return first === undefined ? "nothing: unexplained" : causes[first];
    },
  };
}
