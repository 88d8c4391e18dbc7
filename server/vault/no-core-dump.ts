import { writeFileSync } from 'node:fs';

/**
 * Leaves the memory of this process out of core dumps, where the system allows it: Linux then writes none of its
 * mappings. A limit of the service manager, which a process cannot set for itself here, is described in docs/pci.md.
 */
export function leaveOutOfCoreDumps(file = '/proc/self/coredump_filter'): boolean {
  try {
    writeFileSync(file, '0');
    return true;
  } catch {
    return false;
  }
}
