/** Rules that no test can find missing, and why. A CHECK of a release stays until a later one drops it. */

const forIndex = 'the rest of the primary key, for the index: a sale is in no other slot';
const heldAlone =
  'without it, a batch with another order breaks orders_held_while_pending or finds two rows, and each outcome is written alone';
const moves = 'a statement that moves an operation asks the table of moves, which forbids this one of no sale';

export const redundant: Readonly<Record<string, string>> = {
  orders_subtotal_check: 'the total, the discount and orders_check imply it',
  'rare: r.order_id = o.id': heldAlone,
  "outcomeStatement: t.slot = '${inFlightSlot}'": forIndex,
  "outcomeStatement: t.slot = '${inFlightSlot}' (2)": forIndex,
  "takeExecuted: ${canMove('listed')}": moves,
  "takeLater: ${canMove('listed')}": moves,
};
