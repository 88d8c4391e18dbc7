import { type CardFields, Svc, type SvcError } from '../../sdk/browser/src/svc.ts';
import { byId, drawing, filled } from '../shared/dom.ts';
import { brandMark, cardChoice, cardName, expiryText, isExpired } from '../shared/saved-cards.ts';
import type { Payment, Session } from './session.ts';
import { texts } from './texts.ts';

/** The card to pay with: one on file, or a new one, which is typed into a frame that this page cannot read. */

export interface PaymentCard {
  /** Shows what is missing in the card fields; true if nothing is. */
  check(): Promise<boolean>;
  /** Undefined if there is no card to charge. The card fields then show why. */
  card(): Promise<Pick<Payment, 'card_token' | 'payment_method_id'> | undefined>;
  focus(): void;
}

const newCard = 'new';

export function createPaymentCard(token: string, { saved_cards, livemode }: Session): PaymentCard {
  const list = byId('saved-cards');
  const usable = saved_cards.filter((card) => !isExpired(card));
  const first = usable.find((card) => card.is_default) ?? usable[0];
  let isComplete = false;
  let fields: CardFields | undefined;

  const chosen = (): string => list.querySelector<HTMLInputElement>('input:checked')?.value ?? newCard;

  function mountFields(): CardFields {
    fields ??= Svc({ page: 'checkout', token, live: livemode }, { baseUrl: serviceUrl() })
      .cardFields({
        theme: { mode: 'auto', radius: '10px', fontSize: '16px' },
        language: texts.language,
        onReady: () => byId('card').classList.add('ready'),
        onChange: ({ complete }) => {
          isComplete = complete;
        },
      })
      .mount('#card');
    return fields;
  }

  function showChoice(): void {
    const isNew = chosen() === newCard;
    byId('card-area').hidden = !isNew;
    if (isNew) mountFields();
  }

  list.hidden = saved_cards.length === 0;
  byId('saved-cards').replaceChildren(
    ...saved_cards.map((card) => {
      const date = expiryText(card);
      const text = filled(isExpired(card) ? texts.cardExpired : texts.cardExpires, { date });
      const row = cardChoice(card.id, brandMark(card.brand), cardName(card), text);
      const input = row.querySelector('input');
      if (input) {
        input.disabled = isExpired(card);
        input.checked = card === first;
      }
      return row;
    }),
    ...(saved_cards.length > 0 ? [cardChoice(newCard, drawing('brand-unknown', 'brand'), texts.newCard, '')] : []),
  );
  if (!first) list.querySelector<HTMLInputElement>(`input[value=${newCard}]`)?.click();
  list.addEventListener('change', showChoice);
  showChoice();

  return {
    async check() {
      if (chosen() !== newCard || isComplete) return true;
      // The fields show what is missing, and send nothing.
      await mountFields()
        .createToken()
        .catch(() => undefined);
      return false;
    },
    async card() {
      const choice = chosen();
      if (choice !== newCard) return { payment_method_id: choice };
      try {
        return { card_token: (await mountFields().createToken()).id };
      } catch (error) {
        // Every other problem is visible in the fields.
        const { code } = error as SvcError;
        if (code === 'fields_not_loaded' || code === 'fields_reloaded') throw error;
        return undefined;
      }
    },
    focus: () => (chosen() === newCard ? fields?.focus() : list.querySelector<HTMLElement>('input:checked')?.focus()),
  };
}

/** The service has this page at /checkout/…, and the card fields beside it. */
const serviceUrl = (): string => new URL('..', location.href).href;
