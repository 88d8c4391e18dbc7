/** How often a subscription is charged. */
export interface Period {
  readonly interval: 'day' | 'month';
  readonly interval_count: number;
}

/** The values of a text about a period. Seven days are a week, and twelve months are a year. */
export function periodValues({ interval, interval_count: count }: Period): {
  readonly interval: string;
  readonly count: number;
} {
  const isWeek = interval === 'day' && count === 7;
  const isYear = interval === 'month' && count === 12;
  return { interval: isWeek ? 'week' : isYear ? 'year' : interval, count };
}
