/** Receipts as PDF, and the lines of receipts in emails. */
export const receipts = {
  // At the top of the page.
  title: 'Receipt',
  refundTitle: 'Refund receipt',
  number: 'Receipt number',
  date: 'Date',
  order: 'Order',
  // Above the addresses.
  from: 'From',
  billedTo: 'Billed to',
  shipTo: 'Ship to',
  // In a frame beside the sums.
  paidMark: 'PAID',
  refundedMark: 'REFUNDED',
  // Below the address of the merchant.
  taxId: 'Tax ID: {id}',
  // The columns of the table; the column of quantities is narrow.
  item: 'Description',
  quantity: 'Qty',
  unitPrice: 'Unit price',
  amount: 'Amount',
  setupFee: 'Setup fee',
  // The sums.
  subtotal: 'Subtotal',
  discount: 'Discount',
  discountCode: 'Discount ({code})',
  total: 'Total',
  captured: 'Charged',
  creditApplied: 'Paid with your credit',
  fromCard: 'Paid by card',
  refundedToCredit: 'Refunded to your credit',
  refund: 'Refund on {date}',
  refundAmount: 'Refunded',
  originalTotal: 'Total of the order',
  net: 'Total after refunds',
  // Below the sums.
  paid: 'Paid with {card} on {date}',
  paidWithCredit: 'Paid with your credit.',
  refundedTo: 'Refunded to {card} on {date}',
  free: 'Nothing was charged.',
  questions: 'Questions? Contact {contact}.',
  // By the mode of the company.
  notes: {
    sandbox: 'Sandbox: no money was moved.',
    rehearsal: 'Rehearsal with a test card: no money was moved.',
    live: '',
  },
  // At the bottom of each page.
  page: 'Page {page} of {count}',
} as const;
