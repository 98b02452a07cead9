/** The place of a POST's messages among those that a session may have in flight at once. */
export interface Admission {
  /** Its requests count until they are answered, from now on. */
  readonly begin: (requests: number) => void;
  /** The rest is done. */
  readonly leave: () => void;
}

/**
 * The room for one session's messages: requests until their answer, others until they are handed on.
 * @param countCalls the requests that have begun
 */
export function createRoom(limit: number, countCalls: () => number) {
  let waiting = 0;
  return {
    // No getters in what each session or call has: they make an object large and slow.
    taken: () => countCalls() + waiting,
    /** `undefined` when so many more would be too many. */
    admit: (messages: number): Admission | undefined => {
      if (countCalls() + waiting + messages > limit) return undefined;
      let rest = messages;
      waiting += messages;
      const begin = (requests: number) => {
        rest -= requests;
        waiting -= requests;
      };
      return { begin, leave: () => begin(rest) };
    },
  };
}
