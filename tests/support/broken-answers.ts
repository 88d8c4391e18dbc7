import { lookupFaults, operationFaults } from '../../simulators/faults.ts';

/** The answers of each simulator that the conformance suite has broken. Each kind tests late and repeated ones by itself. */
export const brokenAnswers = {
  operations: operationFaults.filter((fault) => fault !== 'late' && fault !== 'duplicate'),
  lookups: lookupFaults,
} as const;
