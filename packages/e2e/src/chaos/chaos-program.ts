/** A process of the application in the laboratory: it carries out one command after the other. */
import { openStoreAt, type StorePlace } from "../durable/store-place.ts";
import {
  carryOut,
  type ChatUse,
  type Command,
  type CommandParts,
  type CommandResult,
} from "./application.ts";
import { createPoints, type Fault } from "./points.ts";

export interface Order {
  readonly id: number;
  readonly use: ChatUse;
  readonly command: Command;
  readonly aheadMs: number;
  readonly fault?: Fault | undefined;
  readonly isOlder?: boolean | undefined;
}

/** What its parent is told: an outcome, or that it stands still now. */
export type Report = { readonly id: number } & (
  | { readonly type: "ready" | "frozen" }
  /** It dies at the end of the command. */
  | { readonly type: "ending" }
  | { readonly type: "done"; readonly result: CommandResult }
  | { readonly type: "failed"; readonly error: string }
);

const [place, older] = JSON.parse(process.argv[2]!) as [StorePlace, string];
const { store } = await openStoreAt(place, { timeoutMs: 2_000 });
const release = (await import(older)) as NonNullable<CommandParts["release"]>;
const report = (message: Report) =>
  new Promise<void>((resolve) => void process.send!(message, () => resolve()));

process.on("disconnect", () => process.exit());
process.on("message", ({ id, use, command, aheadMs, fault, isOlder }: Order) => {
  const points = createPoints(fault, async (kind) => {
    if (kind === "freeze") await report({ id, type: "frozen" });
    process.kill(process.pid, kind === "freeze" ? "SIGSTOP" : "SIGKILL");
  });
  const parts = { store: points.store(store), fetch: points.fetch, aheadMs, onOpen: points.onOpen };
  const atEnd = async (outcome: Report) => {
    if (!points.dies()) return await report(outcome);
    await report({ id, type: "ending" });
    process.kill(process.pid, "SIGKILL");
  };
  void carryOut(use, command, isOlder ? { ...parts, release } : parts).then(
    (result) => atEnd({ id, type: "done", result }),
    (error: Error) => atEnd({ id, type: "failed", error: String(error) }),
  );
});
await report({ id: 0, type: "ready" });
