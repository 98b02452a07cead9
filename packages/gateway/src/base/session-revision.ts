/** Of a session that several clients have: the newest that all clients speak which the gateway was tried with. */
export const sharedRevision = "2025-06-18";
