import { confirm, isCancel, multiselect, select, text } from "@clack/prompts";
import { plainText } from "@durable-mcp/core/internal";
import { CommandFailure } from "./command-failure.ts";

/** Whether there is a person at a terminal. */
export function hasPerson(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Results go to stdout, so questions do not. */
const streams = { input: process.stdin, output: process.stderr };

/** How a prompt begins. Its words may be a server's, and it is drawn past the program's writer. */
const prompt = (message: string) => ({ ...streams, message: plainText(message) });

const shown = (choices: readonly Choice[]) =>
  choices.map(({ value, label }) => ({ value, label: plainText(label) }));

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
  const isWanted = answerOf(await confirm({ ...prompt(question), initialValue: false }));
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
    ...prompt(message),
    ...(initialValue !== undefined && { initialValue: plainText(initialValue) }),
    validate: (value) => {
      const problem = validate(value ?? "");
      return problem && plainText(problem);
    },
  });
  return answerOf(given) ?? "";
}

export async function askYesOrNo(message: string, initialValue: boolean): Promise<boolean> {
  return answerOf(await confirm({ ...prompt(message), initialValue }));
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
  const options = shown(choices);
  const initial = initialValue === undefined ? {} : { initialValue };
  return answerOf(await select({ ...prompt(message), options, ...initial }));
}

export async function askChoices(
  message: string,
  choices: readonly Choice[],
  { initialValues, isRequired }: { readonly initialValues: string[]; readonly isRequired: boolean },
): Promise<string[]> {
  const asked = { ...prompt(message), options: shown(choices), initialValues };
  return answerOf(await multiselect({ ...asked, required: isRequired }));
}

/** @throws {CommandFailure} if the person has cancelled */
function answerOf<T>(answer: T): Exclude<T, symbol> {
  if (isCancel(answer)) throw nothingDone();
  return answer as Exclude<T, symbol>;
}

function nothingDone(): CommandFailure {
  return new CommandFailure("Nothing was changed.");
}
