import {
  createOutputTail,
  describeEnd,
  type SupervisedProcess,
  startSupervisedProcess,
} from "@durable-mcp/ai-sdk/stdio/internal";
import { createChecklist, type Limits, type ProbeContext } from "./checks.ts";
import { askModern, describeServer, modernVersionsIn } from "./era-checks.ts";
import type { Facts, Row } from "./findings.ts";
import { createOpenSessions } from "./open-sessions.ts";
import { createStdioWire, type StdioWire } from "./stdio-wire.ts";
import { type CallToMake, checkCall, checkTools } from "./tool-checks.ts";
import type { Answer } from "./wire.ts";

export interface CommandProbe {
  /** The program and its arguments. */
  readonly words: readonly string[];
  /** Of the program, over the few variables that it inherits. Secret. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: Limits;
  /** @default no tool is called */
  readonly call?: CallToMake | undefined;
  readonly signal: AbortSignal;
  /** Told the name of each check as it begins. */
  readonly onStart: (check: string) => void;
}

/** A package may have to be downloaded first, in milliseconds. */
const startMs = 60_000;
/** The program's time to end by itself, in milliseconds. */
const closeMs = 2_000;

/** Starts a program, asks it over stdin and stdout, and ends it with all its processes, whatever happens. */
export async function probeCommand(probe: CommandProbe): Promise<{ facts: Facts; rows: Row[] }> {
  const { words, env, limits, signal, onStart } = probe;
  const [command = "", ...args] = words;
  const server = startSupervisedProcess({ command, args, env, cwd: undefined, closeMs });
  const { ended, said, isOver } = watch(server);
  const wire = createStdioWire(server, startMs, ended);
  const context: ProbeContext = {
    ...{ wire, limits, signal, headers: env, sessions: createOpenSessions() },
  };
  const list = createChecklist(context, onStart);
  let endedMs = 0;
  let wasOver = false;
  try {
    await askAll(wire, list, probe, said);
  } finally {
    onStart("ending the program");
    wasOver = isOver();
    const from = Date.now();
    await server.end();
    endedMs = Date.now() - from;
  }
  if (wasOver) return { facts: list.facts, rows: [...list.rows()] };
  const isPolite = endedMs < closeMs;
  const leaves: Row = {
    check: "what the probe leaves",
    outcome: isPolite ? "ok" : "note",
    says: isPolite
      ? "Nothing. The program ended when its stdin was closed."
      : "Nothing. The program went on when its stdin was closed, and was ended by a signal.",
  };
  return { facts: list.facts, rows: [...list.rows(), leaves] };
}

async function askAll(
  wire: StdioWire,
  list: ReturnType<typeof createChecklist>,
  { limits: { requestMs }, call }: CommandProbe,
  said: () => string,
): Promise<void> {
  const greeted = await list.run(
    "server",
    async ({ sessions, signal }) => {
      const from = Date.now();
      const own = wire.until(signal);
      const handshake = await sessions.open(own).catch((error: Error) => {
        throw new Error(`${error.message} ${said()}`.trim(), { cause: error });
      });
      let discovered: Answer | undefined;
      if (handshake.result === undefined) {
        discovered = await askModern(own.limitedTo(requestMs));
        const { error } = handshake.answer.response ?? {};
        if (modernVersionsIn(discovered).length === 0) {
          const says = `It refuses the handshake: ${JSON.stringify(error?.message ?? "")}.`;
          return { outcome: "failed", says };
        }
      }
      const seconds = ((Date.now() - from) / 1_000).toFixed(1);
      const result = describeServer(discovered, handshake);
      return { ...result, says: `${result.says} It was there after ${seconds} s.` };
    },
    { limitMs: startMs + 2 * requestMs },
  );
  if (greeted === undefined || greeted.outcome === "failed") return;
  const { facts } = list;
  const limited = wire.limitedTo(requestMs);
  await list.run("tools", (c) =>
    checkTools({ ...c, wire: limited.until(c.signal) }, facts, undefined),
  );
  if (call !== undefined) {
    const limitMs = call.timeoutMs + 1_000;
    const check = (c: ProbeContext) => checkCall(c, facts, undefined, call);
    await list.run(`call ${call.name}`, check, { limitMs });
  }
  await list.run("stdout", async () => {
    const [line] = wire.noise();
    return line === undefined
      ? { outcome: "ok", says: "Nothing but messages." }
      : {
          outcome: "warning",
          says: `Lines that are no messages: ${JSON.stringify(line)}. They belong on stderr.`,
        };
  });
}

const inheritance =
  "It inherits PATH, HOME and the like alone, as it will in your application: hand others on with --env NAME.";

interface Watched {
  /** Rejects, in words, when the program has ended. */
  readonly ended: Promise<never>;
  readonly isOver: () => boolean;
  /** What it printed last, and what it may lack. */
  readonly said: () => string;
}

function watch(server: SupervisedProcess): Watched {
  const tail = createOutputTail(String);
  let isOver = false;
  let isMissing = false;
  server.stderr.on("data", (chunk: Buffer) => tail.append(chunk.toString()));
  const ended = server.ended.then((end): never => {
    isOver = true;
    isMissing = end.type === "not-started" && end.reason === "ENOENT";
    throw new Error(
      isMissing ? "There is no such program on PATH." : `The program ${describeEnd(end)}.`,
    );
  });
  ended.catch(() => undefined);
  const said = () => {
    if (isMissing) return "";
    return tail.quote() === "" ? inheritance : `It said:\n${tail.quote()}\n${inheritance}`;
  };
  return { ended, isOver: () => isOver, said };
}
