/** Invoices and credit notes as PDF and as XML. What they share with receipts is in the texts of receipts. */
export const invoices = {
  // At the top of the page.
  titles: { invoice: 'Invoice', credit_note: 'Credit note' },
  // Beside the title: the number of the document, and that of the earlier one that it corrects.
  number: 'Number',
  corrects: 'Corrects',
  // The sums. The name is that of a tax, for example VAT.
  uncaptured: 'Not charged',
  totals: { invoice: 'Total', credit_note: 'Total credit' },
  net: 'Net of {name} {percentage}',
  tax: 'Included {name} {percentage}',
  // The only line of a document that corrects an earlier one.
  corrections: {
    refund_settled: 'Refund of invoice {number}',
    refunded_to_credit: 'Refund of invoice {number} to your credit',
    payment_voided: 'Cancellation of invoice {number}',
    refund_returned: 'Reversal of credit note {number}: the refund failed',
    invoice_canceled: 'Correction of invoice {number}',
  },
  // Below the sums.
  paymentVoided: 'The payment with {card} was canceled.',
  refundReturned: 'The refund to {card} failed, so the original payment stands.',
  toCredit: 'Added to your credit.',
  // The reason is a text of the merchant.
  reason: 'Reason: {reason}',
  canceled: 'No money was moved: a corrected invoice follows.',
} as const;
