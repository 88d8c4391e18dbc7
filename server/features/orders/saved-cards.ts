import { invalidField } from '../../errors.ts';

/** A card that a customer entered on a checkout page without agreeing that it is saved pays the order of that page only. */
export function refuseUnsaved(isSaved: boolean): void {
  if (isSaved) return;
  throw invalidField(
    'payment_method_id',
    'is a card that the customer did not agree to save. Use another card, or ask the customer to save this one',
  );
}
