const atOnce = 10;

/**
 * Works on all items, at most ten at a time. The results are in the items' order. After a failure it
 * begins no further item, waits for the items under way, and throws the failure.
 */
export async function inParallel<ITEM, RESULT>(
  items: readonly ITEM[],
  work: (item: ITEM) => Promise<RESULT>,
): Promise<RESULT[]> {
  const results: RESULT[] = [];
  const failures: unknown[] = [];
  const queue = items.entries();
  const workers = Array.from({ length: atOnce }, async () => {
    for (const [index, item] of queue) {
      if (failures.length > 0) return;
      try {
        results[index] = await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  });
  await Promise.all(workers);
  if (failures.length > 0) throw failures[0];
  return results;
}
