/** Texts of exports and of actions on several objects. */
export const bulk = {
  export: 'Export',
  exportAll: 'Export all results',
  exportHint: 'Exports run in the background and stay here for a day.',
  exportSelected: 'Export selected',
  recent: 'Recent exports',
  running: (rows: string) => `Exporting… ${rows} rows`,
  ready: (rows: string) => `${rows} rows`,
  failed: 'Export failed.',
  download: 'Download',
  deleteOf: (name: string) => `Delete export of ${name}`,
  downloadOf: (name: string) => `Download ${name}`,
  refund: 'Refund',
  refundTitle: 'Refund orders',
  refundText: (count: number) =>
    count === 1
      ? 'This refunds the remaining balance of 1 order to the customer’s card. This cannot be undone.'
      : `This refunds the remaining balance of ${count} orders to the customers’ cards. This cannot be undone.`,
  refundSkipped: (count: number) =>
    count === 1
      ? '1 selected order cannot be refunded and is skipped.'
      : `${count} selected orders cannot be refunded and are skipped.`,
  nothingToRefund: 'None of the selected orders can be refunded.',
  tooMany: (most: number) => `Select at most ${most} orders.`,
  refundButton: (sums: string) => `Refund ${sums}`,
  refundProgress: (done: number, all: number) => `${done} of ${all} orders done.`,
  refundFinished: 'Bulk refund completed.',
  refundedSum: (sum: string) => `Refunded ${sum}.`,
  refusedSum: (sum: string) => `Not refunded: ${sum}.`,
  canClose: 'You can close this window. The refunds continue.',
  result: 'Result',
  and: ' and ',
  nothingToChange: 'None of the selected items can be changed.',
  archive: 'Archive',
  archiveTitle: (count: number) => (count === 1 ? 'Archive 1 item?' : `Archive ${count} items?`),
  deactivate: 'Deactivate',
  deactivateTitle: (count: number) => (count === 1 ? 'Deactivate 1 link?' : `Deactivate ${count} links?`),
  done: (done: number, all: number) => `${done} of ${all} updated.`,
};
