/** The texts of invoices and credit notes that receipts do not have. */
export const invoiceTexts = {
  titles: { invoice: 'Invoice', credit_note: 'Credit note' },
  number: 'Number',
  date: 'Date',
  corrects: 'Corrects',
  order: 'Order',
  taxId: (id: string) => `Tax ID: ${id}`,
  setupFee: 'Setup fee',
  subtotal: 'Subtotal',
  discount: (code: string | null) => (code === null ? 'Discount' : `Discount (${code})`),
  uncaptured: 'Not charged',
  totals: { invoice: 'Total', credit_note: 'Total credit' },
  net: (name: string, percentage: number) => `Net of ${name} ${percentage}%`,
  tax: (name: string, percentage: number) => `Included ${name} ${percentage}%`,
  corrections: {
    refund_settled: (number: string) => `Refund of invoice ${number}`,
    refunded_to_credit: (number: string) => `Refund of invoice ${number} to your credit`,
    payment_voided: (number: string) => `Cancellation of invoice ${number}`,
    refund_returned: (number: string) => `Reversal of credit note ${number}: the refund failed`,
  },
  payments: {
    payment_recorded: (card: string, date: string) => `Paid with ${card} on ${date}`,
    refund_settled: (card: string, date: string) => `Refunded to ${card} on ${date}`,
    payment_voided: (card: string) => `The payment with ${card} was canceled.`,
    refund_returned: (card: string) => `The refund to ${card} failed, so the original payment stands.`,
  },
  toCredit: 'Added to your credit.',
  free: 'Nothing was charged.',
  questions: (contact: string) => `Questions? Contact ${contact}.`,
  /** By the mode of the company. */
  notes: {
    sandbox: 'Sandbox: no money was moved.',
    rehearsal: 'Rehearsal with a test card: no money was moved.',
    live: '',
  },
};
