/** Returns the entry for a name from outside. `constructor`, for example, is a property of every table but no entry. */
export function ownEntry<Entry>(table: Readonly<Record<string, Entry>>, name: string): Entry | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
