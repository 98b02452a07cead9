/** Works on all items, at most `limit` at a time; the results are in the items' order. */
export async function inParallel<ITEM, RESULT>(
  items: readonly ITEM[],
  limit: number,
  work: (item: ITEM) => Promise<RESULT>,
): Promise<RESULT[]> {
  const results: RESULT[] = [];
  const queue = items.entries();
  const workers = Array.from({ length: limit }, async () => {
    for (const [index, item] of queue) results[index] = await work(item);
  });
  await Promise.all(workers);
  return results;
}
