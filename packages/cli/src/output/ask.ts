import { confirm, isCancel, multiselect, select, text } from "@clack/prompts";
import { CommandFailure } from "./command-failure.ts";

/** Whether there is a person at a terminal. */
export function hasPerson(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Results go to stdout, so questions do not. */
const streams = { input: process.stdin, output: process.stderr };

/**
 * Asks before something ends. Without a terminal nobody can be asked.
 *
 * @param question such as "End these 2 sessions?"
 * @throws {CommandFailure} if the answer is no, or nobody can give one
 */
export async function confirmAct(
  question: string,
  { yes = false }: { readonly yes?: boolean | undefined },
): Promise<void> {
  if (yes) return;
  if (!hasPerson()) {
    throw new CommandFailure("Nobody can be asked without a terminal: add --yes.", { exitCode: 2 });
  }
  const isWanted = answerOf(await confirm({ ...streams, message: question, initialValue: false }));
  if (!isWanted) throw nothingDone();
}

export async function askText(
  message: string,
  options: {
    readonly initialValue?: string;
    readonly validate: (value: string) => string | undefined;
  },
): Promise<string> {
  const { initialValue, validate } = options;
  const given = await text({
    ...streams,
    message,
    ...(initialValue !== undefined && { initialValue }),
    validate: (value) => validate(value ?? ""),
  });
  return answerOf(given) ?? "";
}

export async function askYesOrNo(message: string, initialValue: boolean): Promise<boolean> {
  return answerOf(await confirm({ ...streams, message, initialValue }));
}

interface Choice {
  readonly value: string;
  readonly label: string;
}

export async function askChoice(
  message: string,
  choices: readonly Choice[],
  initialValue?: string,
): Promise<string> {
  const options = [...choices];
  return answerOf(
    await select({
      ...streams,
      message,
      options,
      ...(initialValue !== undefined && { initialValue }),
    }),
  );
}

export async function askChoices(
  message: string,
  choices: readonly Choice[],
  { initialValues, isRequired }: { readonly initialValues: string[]; readonly isRequired: boolean },
): Promise<string[]> {
  const options = [...choices];
  const asked = { ...streams, message, options, initialValues, required: isRequired };
  return answerOf(await multiselect(asked));
}

/** @throws {CommandFailure} if the person has cancelled */
function answerOf<T>(answer: T): Exclude<T, symbol> {
  if (isCancel(answer)) throw nothingDone();
  return answer as Exclude<T, symbol>;
}

function nothingDone(): CommandFailure {
  return new CommandFailure("Nothing was changed.");
}
