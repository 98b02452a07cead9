import { CommandFailure, wrongUsage } from "../output/command-failure.ts";

/** Of SQLite: another has the lock. */
const isBusy = (error: unknown) => (error as { readonly errcode?: number }).errcode === 5;

/**
 * Takes the programs of a store that is a file, until `close` or the end of the process, however it ends: two gateways
 * would take each other's programs for lost.
 *
 * @throws {CommandFailure} if another process has them
 */
export async function claimPrograms(address: string): Promise<{ readonly close: () => void }> {
  const { DatabaseSync } = await import("node:sqlite");
  try {
    const lock = new DatabaseSync(`${address.replace(/^file:(?:\/\/(?=\/))?/, "")}.programs`);
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    if (!isBusy(error)) throw new CommandFailure(`--store: ${(error as Error).message}.`);
    throw wrongUsage(
      "--store: another gateway has programs over this file. Give one of them another: --store file:PATH.",
    );
  }
}
