/** How many new records of one process come between two purges. */
export const putsPerPurge = 32;

/**
 * Says which writes are to delete what has expired, too. Expired records never pile up, because a purge deletes more
 * than came since the last one.
 */
export function createPurgeTurns() {
  // Each process begins anywhere, because many live for a few records.
  let putsUntilPurge = Math.floor(Math.random() * putsPerPurge);
  return (steps: readonly { readonly ifRevision?: string | null | undefined }[]): boolean => {
    const added = steps.filter(({ ifRevision }) => ifRevision === null).length;
    putsUntilPurge -= added;
    if (added === 0 || putsUntilPurge > 0) return false;
    putsUntilPurge = putsPerPurge;
    return true;
  };
}
