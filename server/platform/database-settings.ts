/** PostgreSQL settings for connections whose statements need other plans. */

/**
 * For statements that receive their rows as JSON: PostgreSQL cannot know how few rows there are, and a plan made
 * while a table was small would keep scanning the whole table. Every lookup in these statements is by key, so a
 * generic plan is made once.
 */
export const byKeySettings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
} as const;

/**
 * For statements that read the head of a queue: a bitmap scan would read the whole queue to return the first few
 * rows.
 */
export const queueSettings = { ...byKeySettings, enable_bitmapscan: 'off' } as const;

/** The statements that make settings. */
export function settingText(set: 'SET' | 'SET LOCAL', settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${set} ${name} = '${value}'`)
    .join('; ');
}
