/**
 * What a company that is closed after a restore waits for: the first list of its processors, the second one, a processor that does
 * not answer, a connection that was made after the backup, or `svc reconcile --finish`.
 */
export const gateWaits = ['comparison', 'second_list', 'processor', 'connection', 'operator'] as const;
export type GateWait = (typeof gateWaits)[number];
