/** How often a scenario's client is built anew. */
export const modes = ["fresh", "resumed", "process"] as const;

/**
 * `fresh`: one client in one process. `resumed`: before every step the client is built anew from
 * the saved snapshot. `process`: so it is, in a process of its own, to which the snapshot is
 * handed over.
 */
export type Mode = (typeof modes)[number];
