import type { RunnableConfig } from "@langchain/core/runnables";
import { interrupt, isGraphInterrupt } from "@langchain/langgraph";

/**
 * The interrupts of one task of a graph, in one run of it. LangGraph tells an interrupt's answer by the interrupt's
 * place among those of its task alone, and the calls of several tools may share a task.
 */
export interface GraphTask {
  /** Notes that a call is under way. @returns notes its end */
  enter(): () => void;
  /** Whether there is a graph around the call, and it has a checkpointer. */
  readonly canInterrupt: boolean;
  /** Names the checkpoint from which the graph goes on. Tasks of one step have the same. */
  readonly checkpoint: string | undefined;
  /** Repeats an earlier interrupt. @returns its answer; `undefined` if it has none yet */
  answerAt(place: number): GraphAnswer | undefined;
  /**
   * Interrupts the graph after all that it was interrupted for before, when no other call of the task is under way:
   * the interrupt of one call ends the task for all. One of several calls interrupts, and the others come later.
   *
   * @param note is called before the graph gets to know of it
   * @throws the interrupt
   */
  interrupt(value: unknown, note: (place: number) => Promise<void>): Promise<never>;
}

export interface GraphAnswer {
  readonly value: unknown;
  /**
   * Whether it came in this run, and for no interrupt by its id. LangGraph gives such a value to all interrupts that
   * wait, and after `invoke(null)` gives an older one again.
   */
  readonly isBare: boolean;
}

const tasks = new WeakMap<object, { readonly task: GraphTask; readonly count: () => number }>();

/** The task around a tool call. */
export function graphTask(config: RunnableConfig | undefined): GraphTask {
  const scratchpad = scratchpadOf(config);
  if (scratchpad === undefined) return createTask(undefined).task;
  const known = tasks.get(scratchpad);
  // A task that is tried again counts its interrupts from the start.
  if (known !== undefined && known.count() <= scratchpad.interruptCounter + 1) return known.task;
  const created = createTask(config);
  tasks.set(scratchpad, created);
  return created.task;
}

/** LangGraph's own notes on a task. All copies of the task's configuration have the same. */
function scratchpadOf(config: RunnableConfig | undefined) {
  const found: unknown = config?.configurable?.["__pregel_scratchpad"];
  return found as Scratchpad | undefined;
}

interface Scratchpad {
  readonly interruptCounter: number;
  /** The value of a resume without an id, until an interrupt gets it. */
  readonly nullResume?: unknown;
}

function createTask(config: RunnableConfig | undefined) {
  const scratchpad = scratchpadOf(config);
  const { checkpoint_map: map, __pregel_checkpointer: checkpointer } = config?.configurable ?? {};
  const checkpoint = map === undefined ? undefined : JSON.stringify(map);
  const canInterrupt = scratchpad !== undefined && Boolean(checkpointer);
  const answers: GraphAnswer[] = [];
  const waiters: (() => void)[] = [];
  let underWay = 0;
  let interrupted: unknown;

  /** @returns the interrupt, if the next place has no answer */
  const takeNext = (value: unknown): unknown => {
    const bare = scratchpad?.nullResume;
    try {
      const answer: unknown = interrupt(value);
      const isBare = bare !== undefined && scratchpad?.nullResume === undefined;
      answers.push({ value: answer, isBare });
      return undefined;
    } catch (error) {
      if (isGraphInterrupt(error)) return error;
      throw error;
    }
  };
  const enter = () => {
    underWay += 1;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      underWay -= 1;
      if (underWay === 0) for (const wake of waiters.splice(0)) wake();
    };
  };

  const task: GraphTask = {
    enter,
    canInterrupt,
    checkpoint,
    answerAt(place) {
      if (!canInterrupt) return undefined;
      while (answers.length <= place) {
        if (interrupted !== undefined || takeNext(undefined) !== undefined) return undefined;
      }
      return answers[place];
    },
    async interrupt(value, note) {
      if (underWay > 0) await new Promise<void>((resolve) => waiters.push(resolve));
      if (interrupted !== undefined) throw interrupted;
      do interrupted = takeNext(value);
      while (interrupted === undefined);
      await note(answers.length);
      throw interrupted;
    },
  };
  return { task, count: () => answers.length };
}
