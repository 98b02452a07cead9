import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type {
  BeginStep,
  FinishedStep,
  Step,
  StepFunction,
  StepOptions,
  StepReport,
  StopOptions,
} from "./step.ts";
import { startHere } from "./step-here.ts";
import type { SentRequest } from "./step-points.ts";

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
): Promise<FinishedStep<OUTPUT>> {
  const started = await startStep(step, options);
  return await started.finish();
}

/** They end with this process. */
let living: Set<ChildProcess> | undefined;

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
  // The program stands beside this file, as source or as it was built.
  const isSource = import.meta.url.endsWith(".ts");
  const program = new URL(
    isSource ? "./step-program.ts" : "./step/step-program.js",
    import.meta.url,
  );
  const conditions = isSource ? ["--conditions=@durable-mcp/source"] : [];
  const child = fork(fileURLToPath(program), [module, ...(clock ? [clock.path] : [])], {
    env: { ...process.env, NODE_NO_WARNINGS: "1", ...env },
    execArgv: [...conditions, ...execArgv],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let printed = "";
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding("utf8").on("data", (text: string) => (printed += text));
  }
  let sent: readonly SentRequest[] = [];
  let last: Extract<StepReport, { type: "done" | "failed" }> | undefined;
  const ready = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const going = Promise.withResolvers<void>();
  let isReached = false;
  child.on("message", (report: StepReport) => {
    if (report.type === "ready") return ready.resolve();
    if (report.type === "going") return going.resolve();
    sent = report.sent;
    isReached ||= report.type === "reached";
    if (report.type === "reached") reached.resolve();
    else last = report;
  });
  const kill = () => void child.kill("SIGKILL");
  const timer = setTimeout(kill, timeoutMs);
  if (living === undefined)
    process.once("exit", () => living!.forEach((each) => each.kill("SIGKILL")));
  living ??= new Set();
  living.add(child);
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const endsEarly = ended.then((): never => {
    const how = last?.type === "failed" ? last.error.message : (child.signalCode ?? child.exitCode);
    throw new Error(`The step ended (${how}) and printed: ${printed}`);
  });
  // Of interest to those that wait for something else.
  endsEarly.catch(() => undefined);
  child.once("close", () => {
    clearTimeout(timer);
    living!.delete(child);
  });
  await Promise.race([ready.promise, endsEarly]);

  let isBegun = false;
  const begin = (stop?: BeginStep["stop"]) => {
    if (!isBegun) child.send({ input, stop, endsByItself } satisfies BeginStep);
    isBegun = true;
  };
  const goTo = async (stop: StopOptions, freezes: boolean) => {
    const { at } = stop;
    const isPoint = typeof at === "string";
    begin(isPoint ? { ...stop, at, freezes } : undefined);
    await Promise.race([isPoint ? reached.promise : at, endsEarly]);
  };
  return {
    async finish() {
      begin();
      await ended;
      const isEnded = child.signalCode === null || !endsByItself;
      if (last?.type === "done" && isEnded) return { output: last.output as OUTPUT, sent, printed };
      if (last?.type === "failed") throw Object.assign(new Error(), last.error);
      return await endsEarly;
    },
    async kill(stop) {
      if (stop) await goTo(stop, false);
      kill();
      await ended;
      return { sent, printed };
    },
    async freeze(stop) {
      await goTo(stop, true);
      if (typeof stop.at !== "string") child.kill("SIGSTOP");
      return { sent, printed };
    },
    resume() {
      child.kill("SIGCONT");
      // It may come before the step has stopped.
      if (!isReached) return;
      const again = setInterval(() => child.kill("SIGCONT"), 50);
      void Promise.race([going.promise, ended]).then(() => clearInterval(again));
    },
  };
}
