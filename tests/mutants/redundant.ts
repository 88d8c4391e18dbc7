/** Rules that no test can find missing, and why. A CHECK of a release stays until a later one drops it. */

const forIndex = 'the rest of the primary key, for the index: a sale is in no other slot';
const moves = 'a statement that moves an operation asks the table of moves, which forbids this one of no sale';
const unheard = 'a row to read: no process asks before it has heard an answer';

export const redundant: Readonly<Record<string, string>> = {
  orders_subtotal_check: 'the total, the discount and orders_check imply it',
  "outcomeStatement: t.slot = '${inFlightSlot}'": forIndex,
  "outcomeStatement: t.slot = '${inFlightSlot}' (2)": forIndex,
  "takeExecuted: ${canMove('listed')}": moves,
  "takeLater: ${canMove('listed')}": moves,
  "state: sending, cause: all, heard: ['nothing'], gate: 'open', step: 'send' (send → wait_for_lookup)": unheard,
  "state: ['waiting'], cause: charges, heard: ['nothing'], gate: 'open', step: 'send' (send → wait_for_lookup)":
    unheard,
  "state: [...sending, 'waiting'], cause: charges, heard: ['nothing'], gate: 'closed', step: 'wait_for_comparison' (wait_for_comparison → wait_for_lookup)":
    unheard,
  "state: sending, cause: reversals, heard: ['nothing'], gate: 'closed', step: 'discard' (discard → record)": unheard,
};
