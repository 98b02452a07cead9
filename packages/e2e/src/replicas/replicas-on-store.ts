import {
  createSessionHandler,
  type SessionHandler,
  type SessionHandlerOptions,
} from "@durable-mcp/server";
import { openStore } from "../../../examples/src/programs/open-store.ts";
import { createFragileStore } from "../../../server/test/fragile-store.ts";
import { createNotesServer, type Notes } from "../../../server/test/notes-server.ts";
import { createRawClient, type ReceivedMessage } from "../../../server/test/raw-client.ts";
import { openTestStore, type StoreKind } from "../durable/store-place.ts";

type Options = Partial<SessionHandlerOptions<Notes>>;

/** Replicas in this process, each with a connection of its own to one real store. */
export interface ReplicasOnStore {
  start(options?: Options): Promise<ReplicaOnStore>;
  close(): Promise<void>;
}

interface ReplicaOnStore {
  readonly handler: SessionHandler;
  readonly client: ReturnType<typeof createRawClient>;
  /** Everything that the author's code was told in this replica. */
  readonly lines: readonly string[];
  /** The names of all operations of its store since the last time. */
  readonly takeOperations: () => string[];
  /** From now on the operations on its own sign of life wait, as of a process that is too slow. */
  readonly holdSignOfLife: () => void;
}

export async function openReplicas(kind: StoreKind): Promise<ReplicasOnStore> {
  const { location, close } = await openTestStore(kind);
  const opened: { drain: () => Promise<void>; close: () => Promise<void> }[] = [];
  return {
    start: async (options = {}) => {
      const connection = await openStore(location);
      const { store, control } = createFragileStore(connection.store);
      const operations: string[] = [];
      const over = Promise.withResolvers<void>();
      let isHeld = false;
      control.interfere = async (operation, run, keys) => {
        operations.push(operation);
        if (isHeld && keys.includes('","replica"')) await over.promise;
        return await run();
      };
      const lines: string[] = [];
      const handler = createSessionHandler<Notes>({
        store,
        principal: "none",
        initialState: () => ({ notes: [] }),
        createServer: ({ session }) => createNotesServer(session, { lines }),
        ...options,
        timeouts: { pollIntervalMs: 50, leaseMs: 600, ...options.timeouts },
      });
      const drain = async () => {
        over.resolve();
        await handler.drain({ timeoutMs: 1 });
      };
      opened.push({ drain, close: connection.close });
      return {
        ...{ handler, client: createRawClient(handler), lines },
        takeOperations: () => operations.splice(0),
        holdSignOfLife: () => {
          isHeld = true;
        },
      };
    },
    close: async () => {
      await Promise.all(opened.map(({ drain }) => drain()));
      await Promise.all(opened.map((each) => each.close()));
      await close();
    },
  };
}

export const toolCall = (id: string | number, name: string, args: object = {}) => ({
  id,
  method: "tools/call",
  params: { name, arguments: args },
});

/** What a message is, in one word: the text of an answer, the code of an error, what was said. */
export function wordOf({ message }: ReceivedMessage): unknown {
  const { error, result, params, method } = message;
  return result?.content?.[0]?.text ?? error?.data?.code ?? params?.["data"] ?? method;
}

export const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
