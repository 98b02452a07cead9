import type { StepContext } from "./sessions-context.ts";
import { noteUser, type SessionUsers } from "./session-users.ts";

/** The part of a record that says when steps marked it as used. */
interface MarkedRecord {
  /**
   * The time of the last mark, in milliseconds since 1970-01-01 UTC. A step that marks a record also looks
   * for idle named sessions of its agent session.
   */
  readonly savedAt: number;
  /** The agent sessions that use a shared session, each with the time of its own last look. */
  readonly looks?: SessionUsers | undefined;
}

export type UseMark = ReturnType<typeof createUseMark>;

/**
 * Marks a record as used at most every `touchIntervalMs`, in all processes together.
 *
 * @param sharedBy the agent session, if its session is shared
 */
export function createUseMark(
  { touchIntervalMs, now }: Pick<StepContext, "touchIntervalMs" | "now">,
  sharedBy: string | undefined,
) {
  /** The time of this step's mark, if it makes one. */
  let at: number | undefined;
  const isOld = (time = -Infinity) => {
    const age = now() - time;
    return age < 0 || age >= touchIntervalMs;
  };
  const ownLook = ({ savedAt, looks = [] }: MarkedRecord) =>
    sharedBy === undefined ? savedAt : looks.find(([id]) => id === sharedBy)?.[1];

  return {
    /** Decides whether the step marks the record. A new one is marked when it is saved. */
    isDue(record: MarkedRecord | undefined): boolean {
      const isDue = record === undefined || isOld(record.savedAt) || isOld(ownLook(record));
      at = isDue ? now() : undefined;
      return isDue;
    },
    /** The fields of a record that this step writes: with its mark, or with the one before. */
    fieldsOf(record: MarkedRecord | undefined): MarkedRecord {
      const { savedAt, looks } = record ?? { savedAt: now() };
      if (at === undefined) return { savedAt, looks };
      return {
        savedAt: at,
        looks: sharedBy === undefined ? looks : noteUser(looks, [sharedBy, at]),
      };
    },
  };
}
