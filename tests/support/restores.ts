import type { RestoreWatch } from '../../server/features/restores/service.ts';

/** The watch of a database that was not restored, except for what a test says. */
export const restoresWith = (given: Partial<RestoreWatch> = {}): RestoreWatch => ({
  isRestored: () => false,
  waiting: () => ({}),
  recorded: () => undefined,
  look: async () => undefined,
  earlierResult: async () => undefined,
  stop: async () => undefined,
  ...given,
});
