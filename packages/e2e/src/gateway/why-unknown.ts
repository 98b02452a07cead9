/** What may take the answer of a call away, and from when to when, in the milliseconds of `performance.now()`. */
interface Trouble {
  readonly what: keyof typeof causes;
  /** Which process; all for the server. */
  readonly process?: number;
}

/** Why a call may have an unknown outcome. Any other is a fault of the gateway. */
const causes = {
  kill: "the process that had sent it was killed, without an event id of the server",
  server: "the server was stopped in the call",
  freeze: "the process that had sent it was frozen",
} as const;

export type UnknownCause = (typeof causes)[keyof typeof causes] | "unexplained";

/** What clients have sent of a call. */
interface SentCall {
  process: number;
  /** Whether the client came back with an event id of the server. Any process can go on with that. */
  isResumable: boolean;
}

/** Keeps what was done to processes and the server, and which process had which call. */
export function createTroubles() {
  const troubles: (Trouble & { readonly from: number; to: number })[] = [];
  const calls = new Map<string, SentCall>();
  const byRequest = new Map<string, SentCall>();
  /** Notes which process gets a request of a client. */
  const noteSent = (process: number, { headers: given, body }: RequestInit = {}) => {
    const headers = new Headers(given);
    const session = headers.get("mcp-session-id") ?? "";
    const place = /\.(.*)$/.exec(headers.get("last-event-id") ?? "")?.[1];
    if (place !== undefined) {
      const [, , requestId, eventId] = JSON.parse(decodeURIComponent(place)) as unknown[];
      const resumed = byRequest.get(JSON.stringify([session, requestId]));
      if (resumed && eventId !== "") resumed.isResumable = true;
    }
    if (typeof body !== "string") return;
    const { id, params } = JSON.parse(body) as {
      id?: unknown;
      params?: { arguments?: { text?: string } };
    };
    const text = params?.arguments?.text;
    if (text === undefined) return;
    const call = { process, isResumable: false };
    calls.set(text, call);
    byRequest.set(JSON.stringify([session, id]), call);
  };
  /** What took the answer of a call away, which was made at `from` and told at `to`. */
  const causeOf = (text: string, from: number, to: number): UnknownCause => {
    const call = calls.get(text);
    const met = troubles.filter((each) => each.from < to && each.to > from);
    const isMet = ({ what, process }: Trouble) =>
      what === "server" || (process === call?.process && call?.isResumable === false);
    const kinds = met.filter(isMet).map(({ what }) => what);
    const first = (Object.keys(causes) as Trouble["what"][]).find((what) => kinds.includes(what));
    return first === undefined ? "unexplained" : causes[first];
  };
  return {
    noteSent,
    /** Notes a trouble while it lasts. */
    async during(trouble: Trouble, work: () => Promise<void>): Promise<void> {
      const noted = { ...trouble, from: performance.now(), to: Infinity };
      troubles.push(noted);
      await work();
      noted.to = performance.now();
    },
    causeOf,
  };
}
