/** Notices about cards on Home, which loads no other text of the pages that they are about. */
export const cardNotices = {
  testing: {
    title: 'Card testing on your checkout pages',
    text: (declined: string) =>
      `Many cards are being tried on your checkout pages: ${declined} payments were declined beyond the usual number. Each payment now takes a proof of work, which slows down the attack. Customers only notice a second of waiting.`,
  },
  warnings: {
    title: 'Possible card numbers in your data',
    text: 'These fields contain numbers that look like card numbers. Capture the card instead, and store only its payment method ID.',
    field: 'Field',
    operation: 'API call',
    lastSeen: 'Last seen',
    dismiss: 'Dismiss',
    dismissed: 'Warning dismissed. It appears again if you send another such number.',
  },
};
