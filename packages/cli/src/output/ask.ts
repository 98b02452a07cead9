import { confirm, isCancel } from "@clack/prompts";
import { plainText } from "@durable-mcp/core/internal";
import { CommandFailure, wrongUsage } from "./command-failure.ts";

/** Whether there is a person at a terminal. */
export function hasPerson(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/**
 * How a prompt begins, on stderr, for results go to stdout. Its words may be a server's, and it is drawn past the
 * program's writer.
 */
export const prompt = (message: string) => ({
  ...{ input: process.stdin, output: process.stderr },
  message: plainText(message),
});

/** What a prompt resolves with. @throws {CommandFailure} if the person has cancelled */
export async function answerTo<T>(prompted: Promise<T>): Promise<Exclude<T, symbol>> {
  const answer = await prompted;
  if (isCancel(answer)) throw nothingDone();
  return answer as Exclude<T, symbol>;
}

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
  if (!hasPerson()) throw wrongUsage("Nobody can be asked without a terminal: add --yes.");
  const isWanted = await answerTo(confirm({ ...prompt(question), initialValue: false }));
  if (!isWanted) throw nothingDone();
}

const nothingDone = () => new CommandFailure("Nothing was changed.");
