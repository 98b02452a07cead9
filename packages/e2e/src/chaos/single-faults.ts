import { openStoreAt, startStorePlace, type StoreKind } from "../durable/store-place.ts";
import { type Action, type ChatPlan, liveThrough } from "./chat-life.ts";
import { createProcessesHere } from "./here.ts";
import { kinds, startLabServers } from "./lab-servers.ts";
import { type Fault, type FaultKind, wireFaults } from "./points.ts";

/** A life of a chat without a fault, of which each operation fails once. */
interface Scenario {
  readonly name: string;
  readonly use: Omit<ChatPlan["use"], "chat">;
  readonly asks: boolean;
  readonly actions: readonly Action[];
}

const by = 0;
const life: readonly Action[] = [
  { by, do: "write", calls: 1 },
  { by, do: "again", isRenamed: false },
  { by, do: "pass", ms: 10_000 },
  { by, do: "due" },
  { by, do: "answer", isDeclined: false, isTwice: false },
  { by, do: "sign-in" },
  { by, do: "pass", ms: 10_000 },
  { by, do: "look" },
  { by, do: "write", calls: 0 },
];
/** The model of a step that is taken again gives its call another id. */
const renamed = life.flatMap((action): Action[] =>
  action.do === "again"
    ? [
        { by, do: "pass", ms: 120_000 },
        { by, do: "again", isRenamed: true },
      ]
    : [action],
);

/** Each kind of call, with its record written late and first, made by the agent and by one below it. */
const scenarios: readonly Scenario[] = kinds.flatMap((kind) =>
  (
    [
      undefined,
      "inherit",
      ...(kind === "sign-in" ? (["isolate", "named", "shared"] as const) : []),
    ] as const
  ).flatMap((nested) =>
    (["late", "first", ...(nested ? [] : ["first, again"])] as const).flatMap((record) =>
      (kind === "question" || kind === "sign-in" ? [false] : [false, true]).map((asks) => ({
        name: [kind, asks && "asks", record, nested && `nested ${nested}`]
          .filter(Boolean)
          .join(", "),
        use: {
          ...{
            kind,
            nested,
            major: nested ? 6 : 7,
            how: "generate",
            whileWaiting: "reply",
            afterMs: 0,
          },
          record: record === "late" ? "late" : "first",
        },
        asks,
        actions: record === "first, again" ? renamed : life,
      })),
    ),
  ),
);

interface SingleFault {
  readonly scenario: Scenario;
  readonly fault: Fault;
  /** The operation that fails. */
  readonly operation: string;
  /** Whether it is the first of its kind in the scenario. */
  readonly isFirst: boolean;
}

/** What a step sends to have its tools: it is safe, so one that breaks goes out once more. */
const listing = new Set([
  ...["initialize", "notifications/initialized", "server/discover", "tools/list"],
]);

/**
 * Only a request that has the server carry the call out, and a kill, leave something unknown; and the answer to the first
 * `tasks/result` of a task that asks, if not even its first event came: the server sends its question there, once.
 */
function expectedAfter(failing: SingleFault | undefined): ChatPlan["expects"] {
  if (failing === undefined) return "all";
  const { operation, fault, isFirst, scenario } = failing;
  if (operation === "tools/call" || fault.kind === "kill") return undefined;
  const hasAnswer = fault.side === "after" && fault.kind !== "slow";
  if (operation === "tasks/result" && isFirst && scenario.asks && hasAnswer) return undefined;
  return listing.has(operation) ? "tools" : "carried out";
}

export interface SingleFaultsOptions {
  readonly store: StoreKind;
  /** Only scenarios whose names have this in them. @default all */
  readonly only?: string | undefined;
  /** Of each so many cases one is tried. @default 1 */
  readonly every?: number | undefined;
  /** Only the operation of this number, in each scenario. @default all */
  readonly at?: number | undefined;
  /** The first case that is tried. @default 1 */
  readonly from?: number | undefined;
  /** How many chats at once. @default 8 */
  readonly lanes?: number | undefined;
  readonly onCase?: (name: string, faults: readonly string[]) => void;
}

/** Lives each scenario without a fault; then again for each of its operations, with each way in which that fails. */
export async function failEachOperation(options: SingleFaultsOptions) {
  const { store: kind, only = "", every = 1, at, from = 1, lanes = 8, onCase } = options;
  const { remove, ...place } = await startStorePlace(kind);
  const { store, close } = await openStoreAt(place);
  const servers = await startLabServers(store);
  const violations: string[] = [];
  let chats = 0;

  const live = async ({ name, use, asks, actions }: Scenario, failing?: SingleFault) => {
    const processes = createProcessesHere(store, failing?.fault);
    chats += 1;
    const chat = { ...use, chat: `c${chats}` };
    const plan = {
      use: chat,
      work: { asks, afterMs: 0 },
      actions,
      expects: expectedAfter(failing),
    };
    const faults = await liveThrough(plan, servers, processes).catch((error: Error) => [
      `the round itself failed: ${error.stack}`,
    ]);
    const { at: number, kind: how, side } = failing?.fault ?? {};
    const where = failing ? `${failing.operation} at ${number}, ${how} ${side}` : "no fault";
    if (faults.length > 0) violations.push(`${name} | ${where}: ${faults.join("; ")}`);
    onCase?.(`${name} | ${where}`, faults);
    return processes.log;
  };

  try {
    const chosen = scenarios.filter(({ name }) => name.includes(only));
    const ofScenarios: SingleFault[][] = [];
    const next = chosen.entries();
    const all = async () => {
      for (const [index, scenario] of next)
        ofScenarios[index] = casesOf(scenario, await live(scenario));
    };
    await Promise.all(Array.from({ length: lanes }, all));
    const cases = ofScenarios.flat();
    const mine = cases
      .slice(from - 1)
      .filter(({ fault }, index) => (at ? fault.at === at : index % every === every - 1));
    const queue = mine.values();
    const lane = async () => {
      for (const failing of queue) await live(failing.scenario, failing);
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    return { violations, scenarios: chosen.length, cases: cases.length, tried: mine.length };
  } finally {
    await close?.();
    await servers.close();
    await remove();
  }
}

function casesOf(scenario: Scenario, log: readonly string[]): SingleFault[] {
  return log.flatMap((operation, index) =>
    waysOf(operation).map(([kind, side]) => ({
      ...{ scenario, operation, isFirst: log.indexOf(operation) === index },
      fault: { at: index + 1, kind, side },
    })),
  );
}

const storeOperations = ["get", "getMany", "put", "touch", "delete", "list", "batch", "publish"];

function waysOf(operation: string): [FaultKind, Fault["side"]][] {
  const isOfStore = storeOperations.includes(operation);
  const fails: readonly FaultKind[] = isOfStore
    ? ["fail"]
    : wireFaults.filter((kind) => kind !== "slow");
  const both = (["before", "after"] as const).flatMap((side) =>
    [...fails, "kill" as const].map((kind): [FaultKind, Fault["side"]] => [kind, side]),
  );
  const inFlight: typeof both = operation === "tools/call" ? [["shutdown", "after"]] : [];
  return isOfStore ? both : [...both, ["cut", "after"], ...inFlight];
}
