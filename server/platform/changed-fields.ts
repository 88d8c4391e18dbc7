import { isDeepStrictEqual } from 'node:util';

/**
 * Returns the fields of an object that a change changes, with their values before it. The order of the keys of inner
 * objects has no meaning. When it was changed is no content.
 */
export function changedFields(before: object, after: object): object {
  const now = new Map(Object.entries(after));
  return Object.fromEntries(
    Object.entries(before).filter(([name, value]) => name !== 'updated_at' && !isDeepStrictEqual(value, now.get(name))),
  );
}

/** A change that changes nothing is answered like any other, and has no effect: no event, no new `updated_at`. */
export const isUnchanged = (before: object, after: object): boolean =>
  Object.keys(changedFields(before, after)).length === 0;
