/** Texts of what agents want to do in live. */
export const approvals = {
  title: 'Approvals',
  lead: 'Agents with an API key of this company ask here before they change anything. They can do exactly what you approve, once.',
  empty: 'No agent has asked for anything',
  emptyText:
    'When an agent wants to refund, retry or cancel something in live, its question appears here for five minutes.',
  key: 'Asked by the API key',
  order: 'Order',
  subscription: 'Subscription',
  tools: {
    refund_order: 'Refund an order',
    retry_order: 'Retry an order',
    cancel_subscription: 'Cancel a subscription',
  },
  asked: 'Asked',
  expires: 'Expires',
  decided: 'Decided',
  decidedBy: 'Decided by',
  byClient: 'The user of the agent’s program',
  used: 'Used',
  approve: 'Approve',
  approveTitle: 'Let the agent do this?',
  approved: 'Approved',
  refuse: 'Refuse',
  refused: 'Refused',
  /** `#` is a permission. */
  needs: 'You need the permission # to decide this.',
  elsewhere: 'The agent’s program asks its user. You cannot decide it here.',
  states: {
    waiting: 'Waiting',
    approved: 'Approved, not used yet',
    refused: 'Refused',
    used: 'Used',
    expired: 'Expired',
  },
} as const;
