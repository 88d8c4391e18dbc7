/** Waits for the work for so long, and then returns something else. The work goes on. */
export async function inTime<Result>(work: Promise<Result>, waitMs: number, otherwise: Result): Promise<Result> {
  const late = Promise.withResolvers<Result>();
  const timer = setTimeout(() => late.resolve(otherwise), waitMs);
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}

/** Waits for the work for so long, and then fails. The work goes on. */
export async function withinTime<Result>(work: Promise<Result>, waitMs: number): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no response within ${waitMs} ms`)), waitMs);
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}
