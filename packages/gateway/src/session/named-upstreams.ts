import type { SessionNames } from "./session-names.ts";
import { type NamedClient, readNamedClients, writeNamedClient } from "./named-clients.ts";
import { createSharedStream } from "./shared-stream.ts";
import {
  type Centre,
  eraOf,
  type OfClient,
  openUpstream,
  type OpenUpstream,
  type Upstream,
} from "./upstreams.ts";

/** What the clients of a name share in this process. */
interface Shared {
  readonly opening: Promise<OpenUpstream | undefined>;
  readonly stream: ReturnType<typeof createSharedStream>;
  readonly clients: Set<NamedMember>;
  /** Asks what other processes have told the clients. */
  readonly onOther: () => Promise<void>;
}

/** A client in this process. */
interface NamedMember {
  readonly key: string;
  /** Whether its results have not told of the session yet. */
  readonly isBehind: (era: number) => boolean;
  /** Called when the session may be another, with what other processes have told the client. */
  readonly onOther: (client: NamedClient | undefined) => void;
}

export type EnterNamed = ReturnType<typeof createNamedUpstreams>["enter"];

/** Of what the gateway itself asks on a named session. No client has this prefix. */
const gatewayItself: OfClient = () => ({
  lasting: {
    prefix: "gateway",
    seal: (eventId) => eventId,
    open: (eventId) => ({ eventId, requestId: undefined }),
    answer: (answer) => answer,
  },
});

/**
 * The sessions of the server that have a name. The clients of a name have one of them: each with ids, answers and news
 * of its own.
 */
export function createNamedUpstreams(centre: Centre) {
  const open = new Map<string, Shared>();

  const share = (names: SessionNames, isNew: boolean): Shared => {
    const clients = new Set<NamedMember>();
    const onOther = async () => {
      const noted = await readNamedClients(centre, names).catch(() => undefined);
      if (noted) for (const client of clients) client.onOther(noted.find(client.key));
    };
    const opening = openUpstream(centre, names.of, gatewayItself, isNew, onOther);
    const stream = createSharedStream(async () => (await opening)!);
    return { opening, stream, clients, onOther };
  };

  async function enter(
    names: SessionNames,
    member: NamedMember,
    ofClient: OfClient,
    isNew: boolean,
  ): Promise<Upstream | undefined> {
    const { of, whole: key } = names;
    const known = open.get(key);
    // What was ended elsewhere is not for newcomers.
    if (known && isNew && (await centre.isEnded(of)) && open.get(key) === known) open.delete(key);
    const shared = open.get(key) ?? share(names, isNew);
    open.set(key, shared);
    shared.clients.add(member);
    const leave = async () => {
      if (!shared.clients.delete(member) || shared.clients.size > 0) return;
      if (open.get(key) === shared) open.delete(key);
      await (await shared.opening.catch(() => undefined))?.close();
    };
    const base = await shared.opening.catch(() => undefined);
    if (base === undefined) await leave();
    const opened = await shared.opening;
    if (opened === undefined) return undefined;
    const requests = opened.requestsOf(ofClient);
    return {
      ...requests,
      async postInsistently(body) {
        if (member.isBehind(eraOf(opened.slot))) await shared.onOther();
        return await requests.postInsistently(body);
      },
      ...{ slot: opened.slot, save: opened.save },
      listen: async () => await shared.stream.listen(),
      close: leave,
      /** The client's part in it. The session goes on. */
      end: async () => await writeNamedClient(centre, names, undefined),
    };
  }
  return {
    enter,
    /** How many clients of a name this process has. */
    count: (names: SessionNames) => open.get(names.whole)?.clients.size ?? 0,
  };
}
