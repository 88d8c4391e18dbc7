import root from '../../package.json' with { type: 'json' };

/** The version of this program. */
export const programVersion: string = root.version;

/** Compares two versions of the form 1.2.3. Negative if the first is older. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((text) => text.split('.').map(Number.parseFloat));
  return (
    [0, 1, 2].map((place) => (left?.[place] ?? 0) - (right?.[place] ?? 0)).find((difference) => difference !== 0) ?? 0
  );
}
