import { createFaultyProxy } from "@durable-mcp/testing";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createCaller } from "./create-caller.ts";
import { openTestStore, type StoreKind } from "../durable/store-place.ts";
import { randomFromSeed } from "../replicas/random-from-seed.ts";
import { startNotebookServer } from "../servers/notebook.ts";
import { balanced, type GatewayProcess, startGateway } from "./gateway-process.ts";
import { createTroubles, type UnknownCause } from "./why-unknown.ts";

/** What became of calls through a gateway whose processes were killed. */
export interface KilledGatewayRun {
  readonly calls: number;
  readonly kills: number;
  /** Kills within a second after a session of the server was begun, which nobody may have kept. */
  readonly killsInHandshakes: number;
  /** Processes that were stopped for up to eight seconds. */
  readonly freezes: number;
  /** How often the server forgot its sessions, or was started anew. */
  readonly losses: number;
  readonly answered: number;
  /** Results that say that the outcome is unknown, by what took the answer away. */
  readonly unknown: ReadonlyMap<UnknownCause, number>;
  /** Results that say that the call was not carried out. */
  readonly refused: number;
  /** Errors of a connection of a killed process before there was an answer, and refusals without a store. */
  readonly broken: number;
  /** Those that got another call's answer. */
  readonly crossed: number;
  /** Those that the server carried out more than once. */
  readonly doubled: number;
  /** Those that were answered, and never carried out. */
  readonly lost: number;
  /** Those of which it was said that they were not carried out, and that were. */
  readonly untrue: number;
  /** Those without an answer after a minute, and those with another error. */
  readonly unexplained: readonly string[];
  /** The words of results with isError, and how often they came. */
  readonly said: ReadonlyMap<string, number>;
  readonly initializes: number;
  /** The most that the sessions of the clients can need. */
  readonly allowedInitializes: number;
  /** Sessions of the server that nobody has ended. */
  readonly orphans: number;
  readonly seconds: number;
}

interface KilledGatewayOptions {
  readonly calls: number;
  readonly seed: number;
  readonly store: StoreKind;
  readonly clients?: number;
  readonly processes?: number;
  /** Whether processes are frozen, too. */
  readonly freezes?: boolean;
  /** Each operation of the store after so many others fails. */
  readonly failing?: number | undefined;
  /** Whether the server gives event ids. */
  readonly events?: boolean | undefined;
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** An unmodified client, which comes back for an answer as often as it takes. */
async function connect(url: string, fetch: typeof globalThis.fetch) {
  const client = new Client({ name: "unchanged", version: "1.0.0" });
  const reconnectionOptions = {
    ...{ initialReconnectionDelay: 200, maxReconnectionDelay: 1_000 },
    ...{ reconnectionDelayGrowFactor: 1.2, maxRetries: 50 },
  };
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch, reconnectionOptions });
  await client.connect(transport);
  return { client, transport };
}

/** Stops a process for a while, as a machine that sleeps. */
async function freeze(frozen: GatewayProcess, ms: number): Promise<void> {
  const pid = frozen.pid()!;
  process.kill(pid, "SIGSTOP");
  await wait(ms);
  process.kill(pid, "SIGCONT");
}

/** Ends a client's session. A store that fails is asked again. */
async function end(transport: StreamableHTTPClientTransport, tries = 5): Promise<void> {
  await transport.terminateSession().catch(async (error: unknown) => {
    if (tries === 0) throw error;
    await end(transport, tries - 1);
  });
}

/** Clients call tools through processes of a gateway, which are killed at random, before a server that forgets. */
export async function runKilledGateway(options: KilledGatewayOptions): Promise<KilledGatewayRun> {
  const stack = new AsyncDisposableStack();
  try {
    return await runIn(stack, options);
  } finally {
    await stack.disposeAsync();
  }
}

interface State {
  left: number;
  kills: number;
  killsInHandshakes: number;
  freezes: number;
  losses: number;
}

interface TroubleOptions {
  readonly random: () => number;
  readonly freezes: boolean;
  readonly isInHandshake: () => boolean;
  readonly forget: () => Promise<void>;
  readonly restartServer: () => Promise<void>;
}

/** Kills and freezes processes, and has the server forget, until all calls are made. */
async function makeTrouble(
  state: State,
  troubles: ReturnType<typeof createTroubles>,
  gateways: readonly GatewayProcess[],
  { random, freezes, isInHandshake, forget, restartServer }: TroubleOptions,
): Promise<void> {
  for (;;) {
    await wait(300 + 700 * random());
    if (state.left <= 0) return;
    const what = random();
    const process = Math.floor(gateways.length * random());
    const chosen = gateways[process]!;
    if (freezes && what < 0.2) {
      state.freezes += 1;
      const ms = 500 + 7_500 * random();
      await troubles.during({ what: "freeze", process }, () => freeze(chosen, ms));
    } else if (what < 0.7) {
      state.kills += 1;
      if (isInHandshake()) state.killsInHandshakes += 1;
      await troubles.during({ what: "kill", process }, () => chosen.restart());
    } else {
      state.losses += 1;
      if (what < 0.9) await forget();
      else await troubles.during({ what: "server" }, restartServer);
    }
  }
}

async function runIn(
  stack: AsyncDisposableStack,
  { calls, seed, store: kind, clients = 8, processes = 3, ...options }: KilledGatewayOptions,
): Promise<KilledGatewayRun> {
  const random = randomFromSeed(seed);
  const startedAt = Date.now();
  const server = stack.adopt(await startNotebookServer({ events: options.events }), (each) =>
    each.stop(),
  );
  const proxy = stack.adopt(await createFaultyProxy({ target: server.url }), (each) =>
    each.close(),
  );
  const store = stack.adopt(await openTestStore(kind), (each) => each.close());
  const address = kind === "sqlite" ? `file:${store.location}` : store.location;
  const gateway = stack.adopt(
    await startGateway(
      { notebook: proxy.url },
      { processes, store: address, failing: options.failing },
    ),
    (each) => each.stop(),
  );
  let handshakeAt = -Infinity;
  for (const on of ["initialize", "notifications/initialized"])
    proxy.meet(
      async ({ carryOut }) => {
        handshakeAt = performance.now();
        return await carryOut();
      },
      { on },
    );
  const troubles = createTroubles();
  const fetch = balanced(gateway.processes, troubles.noteSent);
  const connected = await Promise.all(
    Array.from({ length: clients }, () => connect(gateway.processes[0]!.urlOf("notebook"), fetch)),
  );
  const caller = createCaller(random, troubles);
  const state: State = { left: calls, kills: 0, killsInHandshakes: 0, freezes: 0, losses: 0 };
  const work = async ({ client }: (typeof connected)[number], name: number) => {
    while (state.left > 0) {
      state.left -= 1;
      await caller.call(client, `${name}/${state.left}/`);
      await wait(5 + 20 * random());
    }
  };
  // The proxy would take requests for a server that is not there.
  const restartServer = async () => {
    await proxy.down();
    await server.restart();
    await proxy.up();
  };
  const trouble = makeTrouble(state, troubles, gateway.processes, {
    ...{ random, restartServer, forget: server.forget, freezes: options.freezes === true },
    isInHandshake: () => performance.now() - handshakeAt < 1_000,
  });
  await Promise.all([...connected.map(work), trouble]);
  for (const { client, transport } of connected) {
    await end(transport);
    await client.close();
  }
  const { sessions: orphans } = await server.stats();
  const initializes = proxy.requests.filter(({ rpcMethod }) => rpcMethod === "initialize").length;
  const ended = proxy.requests.filter(({ httpMethod }) => httpMethod === "DELETE").length;
  const { tally, unknown, said, unexplained } = caller;
  const { left: _, ...counts } = state;
  return {
    ...{ calls, ...counts, ...tally, unknown, unexplained, said },
    ...caller.compare(server.journal()),
    ...{ initializes, orphans },
    // Those that lost a race were ended.
    allowedInitializes: clients * (state.losses + 1) + ended,
    seconds: Math.round((Date.now() - startedAt) / 1_000),
  };
}
