/** Works on each item, on at most `atOnce` of them at a time. What fails does not stop the others. Results are in the order of the items. */
export async function tryInParallel<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<PromiseSettledResult<Result>[]> {
  const results: PromiseSettledResult<Result>[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) [results[index]] = await Promise.allSettled([work(item)]);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}

/** The same for work of which none should fail: once all have ended, throws the first failure. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  return (await tryInParallel(items, atOnce, work)).map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
