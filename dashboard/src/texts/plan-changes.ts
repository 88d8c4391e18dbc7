export const planChanges = {
  button: 'Change plan',
  title: 'Change plan',
  planHint: (name: string) => `Leave empty to keep ${name} and change only the seats.`,
  seats: 'Seats',
  seatsHint: 'The amount of the plan is charged for each.',
  wrongSeats: 'Enter a whole number, for example 3.',
  seatsOf: (seats: number) => String(seats),
  when: 'When does the change take effect?',
  choices: {
    difference: {
      label: 'Now, charge the difference',
      hint: 'The billing dates stay. The rest of the period is charged.',
    },
    restart: { label: 'Now, start a new period', hint: 'The new plan is charged in full, less the unused time.' },
    none: { label: 'Now, without a charge', hint: 'The new price is charged from the next renewal on.' },
    renewal: { label: 'At the next renewal', hint: 'The plan stays as it is until then. You can undo this.' },
  },
  lines: { charge: 'New plan', discount: 'Discount', credit: 'Unused time' },
  due: 'Charged now',
  credit: 'Added to the credit',
  next: (day: string) => `Next payment, ${day}`,
  coupon: (code: string, continues: boolean) =>
    continues ? `The coupon ${code} continues.` : `The coupon ${code} is not for this plan and ends.`,
  change: 'Change plan',
  charge: (amount: string) => `Change plan and charge ${amount}`,
  done: {
    applied: 'Plan changed.',
    scheduled: 'Plan changes at the next renewal.',
    superseded: 'The subscription was canceled meanwhile. Refund the order to return the money.',
  },
  declined: (reason: string) => `The card was declined, so the plan stays: ${reason}`,
  scheduled: (plan: string, seats: number, day: string | null) =>
    `The plan changes to ${seats > 1 ? `${seats} × ${plan}` : plan} at the next renewal${day ? ` on ${day}` : ''}.`,
  scheduledSeats: (seats: number, day: string | null) =>
    `The seats change to ${seats} at the next renewal${day ? ` on ${day}` : ''}.`,
  ofOrder: 'Plan change',
  undo: 'Keep the current plan',
  undone: 'The plan stays as it is.',
};

export const renewalItems = {
  title: 'On the next renewal',
  none: 'No products are added to the next renewal.',
  add: 'Add product',
  hint: 'The product is charged once, with the next renewal, at its price now. A coupon does not apply to it.',
  price: 'Product',
  next: (day: string) => `Next payment, ${day}`,
  added: 'Product added to the next renewal.',
  remove: (name: string) => `Remove ${name}`,
  removeTitle: (name: string) => `Remove ${name} from the next renewal?`,
  removeText: 'The next renewal is charged without it.',
  removed: 'Product removed.',
};
