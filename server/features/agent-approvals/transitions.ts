/** The transitions of an approval: from, trigger, to. All others are forbidden. */

export const approvalStates = ['waiting', 'approved', 'refused', 'used', 'expired'] as const;
export type ApprovalState = (typeof approvalStates)[number];

const triggers = ['approve', 'refuse', 'use', 'expire'] as const;
export type ApprovalTrigger = (typeof triggers)[number];

export const approvalTransitions: readonly (readonly [
  from: ApprovalState,
  because: ApprovalTrigger,
  to: ApprovalState,
])[] = [
  ['waiting', 'approve', 'approved'],
  ['waiting', 'refuse', 'refused'],
  ['waiting', 'expire', 'expired'],
  ['approved', 'use', 'used'],
  ['approved', 'expire', 'expired'],
];

/** From which states a trigger leads to which one. */
export function movesOf(because: ApprovalTrigger): {
  readonly from: readonly ApprovalState[];
  readonly to: ApprovalState;
} {
  const rows = approvalTransitions.filter(([, trigger]) => trigger === because);
  const [first] = rows;
  if (!first) throw new Error(`no approval moves by ${because}`);
  return { from: rows.map(([from]) => from), to: first[2] };
}
