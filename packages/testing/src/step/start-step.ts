import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type {
  BeginStep,
  Step,
  StepFunction,
  StepOptions,
  StepReport,
  StopOptions,
} from "./step.ts";
import { createStepPoints, type SentRequest } from "./step-points.ts";

/**
 * Starts a step in a process of its own, or a function in this one for quick tests. A function that is "killed" goes no
 * further: none of its requests and operations of its store come back.
 *
 * @param step a module's URL, whose default export is the step; or that function
 * @example
 * const step = await startStep(new URL("./step.ts", import.meta.url), { input: "chat 1" });
 * await step.kill({ at: "after-send" });
 */
export async function startStep<INPUT, OUTPUT>(
  step: string | URL | StepFunction<INPUT, OUTPUT>,
  options: StepOptions<INPUT> = {},
): Promise<Step<OUTPUT>> {
  if (typeof step === "function") return startHere(step, options);
  return await startProcess(String(step), options);
}

/** Starts a step and lets it work to its end. @throws as `finish` of the step */
export async function runStep<INPUT, OUTPUT>(
  step: string | URL | StepFunction<INPUT, OUTPUT>,
  options: StepOptions<INPUT> = {},
): ReturnType<Step<OUTPUT>["finish"]> {
  const started = await startStep(step, options);
  return await started.finish();
}

async function startProcess<OUTPUT>(
  module: string,
  {
    input,
    clock,
    env,
    execArgv = [],
    endsByItself = false,
    timeoutMs = 60_000,
  }: StepOptions<unknown>,
): Promise<Step<OUTPUT>> {
  const program = fileURLToPath(new URL("./step-program.ts", import.meta.url));
  const conditions = program.endsWith(".ts") ? ["--conditions=@durable-mcp/source"] : [];
  const parameters = [module, ...(clock ? [clock.path] : [])];
  const child = fork(program, parameters, {
    env: { ...process.env, NODE_NO_WARNINGS: "1", ...env },
    execArgv: [...conditions, ...execArgv],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let printed = "";
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding("utf8").on("data", (text: string) => (printed += text));
  }
  let sent: readonly SentRequest[] = [];
  let end: StepReport | undefined;
  const ready = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  child.on("message", (report: StepReport) => {
    if (report.type === "ready") return ready.resolve();
    sent = report.sent;
    if (report.type === "reached") reached.resolve();
    else end = report;
  });
  const kill = () => void child.kill("SIGKILL");
  const timer = setTimeout(kill, timeoutMs);
  const ended = new Promise<void>((resolve) => {
    child.once("close", () => {
      clearTimeout(timer);
      process.off("exit", kill);
      resolve();
    });
  });
  const endsEarly = ended.then((): never => {
    const how = end?.error?.message ?? child.signalCode ?? child.exitCode;
    throw new Error(`The step ended (${how}) and printed: ${printed}`);
  });
  // Of interest to those that wait for something else.
  endsEarly.catch(() => undefined);
  await Promise.race([ready.promise, endsEarly]);

  let isBegun = false;
  const begin = (stop?: BeginStep["stop"]) => {
    if (!isBegun) child.send({ input, stop, endsByItself } satisfies BeginStep);
    isBegun = true;
  };
  const goTo = async ({ at, ...which }: StopOptions, freezes: boolean) => {
    const isPoint = typeof at === "string";
    begin(isPoint ? { at, ...which, freezes } : undefined);
    await Promise.race([isPoint ? reached.promise : at, endsEarly]);
  };
  return {
    async finish() {
      begin();
      await ended;
      if (end?.error) throw Object.assign(new Error(), end.error);
      const isWell = end !== undefined && (child.signalCode === null || !endsByItself);
      return isWell ? { output: end!.output as OUTPUT, sent, printed } : await endsEarly;
    },
    async kill(stop) {
      if (stop) await goTo(stop, false);
      kill();
      await ended;
      return { sent, printed };
    },
    async freeze(stop) {
      await goTo(stop, true);
      child.kill("SIGSTOP");
      // A process that stands still does not notice the end of this one.
      process.once("exit", kill);
      return { sent, printed };
    },
    resume() {
      child.kill("SIGCONT");
      // That may come before the step has stopped itself.
      const again = setInterval(() => child.kill("SIGCONT"), 50);
      void ended.then(() => clearInterval(again));
    },
  };
}

/** A step in this process. */
function startHere<INPUT, OUTPUT>(
  step: StepFunction<INPUT, OUTPUT>,
  { input, clock }: StepOptions<INPUT>,
): Step<OUTPUT> {
  const reached = Promise.withResolvers<void>();
  const resumed = Promise.withResolvers<void>();
  const { sent, stopAt, watchFetch, watchStore } = createStepPoints(async () => {
    reached.resolve();
    await resumed.promise;
  });
  const stopped = { sent, printed: "" };
  let working: Promise<OUTPUT> | undefined;
  const begin = () => {
    const now = clock?.now ?? Date.now;
    const context = { fetch: watchFetch(globalThis.fetch), watch: watchStore, now };
    return (working ??= (async () => await step(input as INPUT, context))());
  };
  const goTo = async ({ at, ...which }: StopOptions) => {
    if (typeof at === "string") stopAt({ at, ...which });
    const early = begin().then((): never => {
      throw new Error("The step ended before it was there.");
    });
    await Promise.race([typeof at === "string" ? reached.promise : at, early]);
    return stopped;
  };
  return {
    finish: async () => ({ output: await begin(), ...stopped }),
    kill: async (stop) => (stop ? await goTo(stop) : stopped),
    freeze: goTo,
    resume: () => resumed.resolve(),
  };
}
