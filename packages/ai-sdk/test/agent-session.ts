import { DatabaseSync } from "node:sqlite";
import {
  createMemoryStore,
  type JsonValue,
  type SessionStore,
  sessionKey,
} from "@durable-mcp/core";
import { encryptStore } from "@durable-mcp/core/sealing";
import type { InputResponses } from "@durable-mcp/core/waiting";
import { onTestFinished } from "vitest";
import { createSqliteStore, sqliteTables } from "../../stores/src/sqlite.ts";
import {
  type ConnectionProviderOptions,
  type ConnectionRun,
  createConnectionProvider,
  createDurableSessions,
  type EndedSession,
  type McpClientConnection,
  type McpClientConnectionOptions,
  type Principal,
} from "../src/index.ts";
import { recordKey, recordOwner } from "../../sessions/src/records/slot-record.ts";
import { slotName } from "../../sessions/src/records/step-slot.ts";
import { randomKey } from "../../sessions/test/both-stores.ts";
import { collectEvents } from "./collect-events.ts";
import { startNotebookServer } from "../../sessions/test/notebook-server.ts";
import { notebook } from "./saved-session.ts";
import { type AgentSession, alice, callForText, callTool } from "./step.ts";

/** Where an agent session's MCP sessions are kept. */
export const backends = ["carried state", "a memory store", "an encrypted SQLite store"] as const;
export type Backend = (typeof backends)[number];

/** The interval of durable sessions; idle time-outs are three times as long at least. */
export const touchIntervalMs = 60_000;

export type Run = ConnectionRun<any>;
type Provider = ConnectionProviderOptions<Record<string, McpClientConnection>>;
type Process = ReturnType<typeof createConnectionProvider<Record<string, McpClientConnection>>>;
type Work<T> = (run: Run) => T | Promise<T>;

/** Which agent session: `chat` of the agent `default`, if no other is named. */
interface Chat {
  readonly chat?: string;
  readonly agent?: string;
}
/** For whom: for alice, if nobody else is named. */
interface Use {
  readonly principal?: Principal | undefined;
}
interface Selection extends Use {
  readonly connection?: string;
  readonly name?: string;
}
interface InTime extends Selection {
  readonly timeoutMs?: number;
}
interface AnswerUse extends Use {
  readonly round?: number;
  readonly abortSignal?: AbortSignal;
}
interface StepUse extends Use, Chat {
  readonly abortSignal?: AbortSignal;
  /** The end of the process; by default it waits for all that is still under way. */
  readonly exit?: (process: { shutdown(): Promise<void> }) => Promise<void> | void;
}
type Whose<USE> = USE & { readonly principal: Principal };

/** What is kept of a connection, in `chat` of alice. */
export type Kept = Record<string, JsonValue> & { snapshot: Record<string, JsonValue> };

/**
 * An agent with these connections. Each step, and each use of a session outside of a step, is a process of its own,
 * with a clock that the test sets. The same calls work wherever the sessions are kept.
 */
export function startAgent(
  backend: Backend,
  connections: Provider["connections"],
  options: Partial<Provider> = {},
) {
  let time = Date.now();
  const now = () => time;
  const { onEvent, ...collected } = collectEvents();
  const place = backend === "carried state" ? openState() : openStore(backend, now);
  const claimed = new Set<string>();
  const claim = ({ key }: { key: string }) => claimed.size < claimed.add(key).size;
  const processOf = (declared: Provider["connections"]) => {
    const start = () =>
      createConnectionProvider({ connections: declared, onEvent, now, claim, ...options });
    /** The agent session in a process of its own, and the rest of the options. */
    const open = <USE extends Use>(of: USE & Chat = {} as USE, process = start()) => {
      const { chat = "chat", agent = "default", ...rest } = of;
      const use = { principal: alice, ...rest } as unknown as Whose<USE>;
      return [place.open(process, chat, agent), use] as const;
    };
    return {
      start,
      step: async <T>(work: Work<T>, { exit, ...of }: StepUse = {}): Promise<T> => {
        const process = start();
        const [session, use] = open(of, process);
        try {
          return await session.run(use, work);
        } finally {
          await (exit ?? ((each) => each.shutdown()))(process);
        }
      },
      list: async (of?: Selection & Chat) => {
        const [session, use] = open<Selection>(of);
        return await session.list(use);
      },
      status: async (of?: InTime & Chat) => {
        const [session, use] = open<InTime>(of);
        return await session.status(use);
      },
      restart: async (of?: InTime & Chat): Promise<EndedSession[]> => {
        const [session, use] = open<InTime>(of);
        return await session.restart(use);
      },
      end: async (of?: InTime & Chat): Promise<EndedSession[]> => {
        const [session, use] = open<InTime>(of);
        return await session.end(use);
      },
      clearTools: async (of?: Selection & Chat) => {
        const [session, use] = open<Selection>(of);
        await session.clearTools(use);
      },
      waiting: async (of?: Use & Chat) => {
        const [session, use] = open<Use>(of);
        return await session.waiting(use);
      },
      answer: async (id: string, responses: InputResponses, of?: AnswerUse & Chat) => {
        const [session, use] = open<AnswerUse>(of);
        return await session.answer(id, responses, use);
      },
      withdraw: async (id: string, of?: Use & Chat) => {
        const [session, use] = open<Use>(of);
        return await session.withdraw(id, use);
      },
    };
  };
  return {
    ...collected,
    types: () => collected.events.map(({ type }) => type),
    now,
    pass: (ms: number) => void (time += ms),
    ...processOf(connections),
    /** The same agent after a release, with other connections. */
    as: processOf,
    kept: place.kept,
    /** Changes what is kept: a record, or in a state the entry. */
    change: async (change: (kept: Kept) => object, connection = "notes", name?: string) => {
      const kept = (await place.kept(connection, name)) as Kept;
      await place.write(change(kept) as JsonValue, connection, name);
    },
    /** All that is kept, as text. */
    contents: place.contents,
  };
}

const entryKey = (connection: string, name?: string) =>
  sessionKey({ connection: slotName({ connection, name }), principal: alice });
const keyOf = (connection: string, name?: string) =>
  recordKey({ agent: "default", sessionId: "chat", connection, name }, alice);

/** The application saves JSON under the chat's id. */
function openState() {
  const states = new Map<string, string>();
  const load = (key: string) => JSON.parse(states.get(key) ?? "{}") as AgentSession;
  const save = (key: string, session: AgentSession) =>
    void states.set(key, JSON.stringify(session));
  const entries = () =>
    ((load(key).state as { mcpSessions?: object } | undefined)?.mcpSessions ?? {}) as Record<
      string,
      JsonValue
    >;
  const key = "default chat";
  return {
    open(process: Process, chat: string, agent: string) {
      const of = `${agent} ${chat}`;
      const onSession = (session: AgentSession) => save(of, session);
      const ending = (verb: "end" | "restart") => async (use: Whose<InTime>) => {
        const { session, results } = await process[verb](load(of), use);
        onSession(session);
        return results;
      };
      return {
        async run<T>(use: Whose<Omit<StepUse, "exit">>, work: Work<T>): Promise<T> {
          const how = { session: load(of), sessionId: chat, onSession, ...use };
          return (await process.run(how, (run) => work(run))).result;
        },
        list: async (use: Whose<Selection>) => await process.list(load(of), use),
        status: async (use: Whose<InTime>) => await process.status(load(of), use),
        restart: ending("restart"),
        end: ending("end"),
        async clearTools(use: Whose<Selection>) {
          onSession(await process.clearTools(load(of), use));
        },
        waiting: async (use: Whose<Use>) => await process.waiting(load(of), use),
        async answer(id: string, responses: InputResponses, use: Whose<AnswerUse>) {
          return (await process.answer(load(of), id, responses, { onSession, ...use })).call;
        },
        async withdraw(id: string, use: Whose<Use>) {
          const { session, call } = await process.withdraw(load(of), id, use);
          onSession(session);
          return call;
        },
      };
    },
    /** The entry; one without a name is its snapshot alone. */
    kept: async (connection = "notes", name?: string): Promise<any> => {
      const entry = entries()[entryKey(connection, name)];
      return name === undefined && entry !== undefined ? { snapshot: entry } : entry;
    },
    async write(kept: JsonValue, connection: string, name?: string) {
      const entry = name === undefined ? (kept as Kept).snapshot : kept;
      const mcpSessions = { ...entries(), [entryKey(connection, name)]: entry };
      save(key, { state: { mcpSessions } });
    },
    contents: async () => states.get(key) ?? "{}",
  };
}

/** Records of a store. */
function openStore(backend: Backend, now: () => number) {
  const store = backend === "a memory store" ? createMemoryStore({ now }) : openSqlite(now);
  return {
    open(provider: Process, chat: string, agent: string) {
      const options = { provider, store, agent, touchIntervalMs, clockSkewMs: 0 };
      const sessions = createDurableSessions(options);
      const inChat = <ENTRY extends { sessionId?: string | undefined }>(entry: ENTRY) => {
        const { sessionId, ...rest } = entry;
        if (sessionId !== chat) throw new Error(`of ${sessionId}`);
        return rest;
      };
      const ending = (verb: "end" | "restart") => async (use: Whose<InTime>) =>
        (await sessions[verb](chat, use)).map(inChat);
      return {
        run: async <T>(use: Whose<Omit<StepUse, "exit">>, work: Work<T>): Promise<T> =>
          await sessions.run(chat, use, (run) => work(run)),
        list: async (use: Whose<Selection>) =>
          (await sessions.list({ ...use, sessionId: chat })).sessions.map(inChat),
        status: async (use: Whose<InTime>) => await sessions.status(chat, use),
        restart: ending("restart"),
        end: ending("end"),
        clearTools: async (use: Whose<Selection>) => await sessions.clearTools(chat, use),
        waiting: async (use: Whose<Use>) => await sessions.waiting(chat, use),
        answer: async (id: string, responses: InputResponses, use: Whose<AnswerUse>) =>
          await sessions.answer(chat, id, responses, use),
        withdraw: async (id: string, use: Whose<Use>) => await sessions.withdraw(chat, id, use),
      };
    },
    kept: async (connection = "notes", name?: string): Promise<any> =>
      (await store.get(keyOf(connection, name)))?.value,
    async write(kept: JsonValue, connection: string, name?: string) {
      const key = keyOf(connection, name);
      const revision = (await store.get(key))?.revision ?? null;
      await store.put(key, kept, revision, { owner: recordOwner(alice) });
    },
    contents: async () => {
      const { records } = await store.list({ limit: 100 });
      return JSON.stringify(records.map(({ value }) => value));
    },
  };
}

function openSqlite(now: () => number): SessionStore {
  const database = new DatabaseSync(":memory:");
  database.exec(sqliteTables());
  const store = createSqliteStore({ database, now });
  onTestFinished(() => store.close());
  return encryptStore(store, { keys: { current: randomKey() }, fingerprintKey: randomKey() });
}

/** An agent with a notebook, `notes`. */
export async function startNotebook(
  backend: Backend,
  server: Parameters<typeof startNotebookServer>[0] = {},
  options: Partial<McpClientConnectionOptions> = {},
) {
  const notes = await startNotebookServer(server);
  const agent = startAgent(backend, { notes: notebook(notes, options) });
  return { server: notes, ...agent };
}

/** An agent with two notebooks, `notes` and `cart`, and a stateless one, `plain`. */
export async function startNotebooks(backend: Backend) {
  const [server, cart, plain] = [
    await startNotebookServer(),
    await startNotebookServer(),
    await startNotebookServer(),
  ];
  const agent = startAgent(backend, {
    notes: notebook(server),
    cart: notebook(cart),
    plain: notebook(plain, { session: "stateless" }),
  });
  /** Forgets what the servers received so far. */
  const clearLogs = () => {
    for (const { requests } of [server, cart]) requests.length = 0;
  };
  return { server, cart, clearLogs, ...agent };
}

/** Steps that use the tools of `notes`, as an agent loop does. */
export const add = (text: string) => async (run: Run) =>
  await callForText(await run.tools(), "notes__add_note", { text });
export const list = async (run: Run) => await callForText(await run.tools(), "notes__list_notes");
/** Whether the model is told that its session was replaced. */
export const isTold = async (run: Run): Promise<boolean> =>
  "durable-mcp/sessionReplaced" in
  ((await callTool(await run.tools(), "notes__list_notes"))["_meta"] ?? {});

/** The same without a listing of tools. */
export async function addNote(run: Run, text: string, connection = "notes") {
  return textOf(await run.call(connection, "add_note", { text }));
}

export async function listNotes(run: Run, connection = "notes") {
  return textOf(await run.call(connection, "list_notes"));
}

/** What the model is shown as the result of a tool. */
export async function callForModel(run: Run, name: string): Promise<string[]> {
  const tools = await run.tools();
  const output: unknown = await callTool(tools, name);
  const seen: any = await tools[name]!.toModelOutput!({ toolCallId: "call-1", input: {}, output });
  return seen.value.map(({ text }: { text: string }) => text);
}

function textOf(result: unknown): string {
  return (result as { content: { text: string }[] }).content[0]!.text;
}
