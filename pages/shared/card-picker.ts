import { type CardFields, type PageLink, Svc, type SvcError } from '../../sdk/browser/src/svc.ts';
import type { Template } from '../../server/customer-texts/messages.ts';
import { byId, drawing, filled } from './dom.ts';
import { brandMark, cardChoice, cardName, expiryText, isExpired, type ShownCard } from './saved-cards.ts';

/** Chooses a card: one on file, or a new one, which is typed into a frame that this page cannot read. */

export interface CardPicker {
  /** Shows what is missing in the card fields; true if nothing is. */
  check(): Promise<boolean>;
  /** Undefined if there is no card. The card fields then show why. */
  card(): Promise<{ readonly card_token: string } | { readonly payment_method_id: string } | undefined>;
  unmount(): void;
}

interface PickerTexts {
  readonly language: string;
  readonly newCard: string;
  readonly cardExpires: Template | string;
  readonly cardExpired: Template | string;
}

export interface OfferedCard extends ShownCard {
  readonly is_default: boolean;
}

const newCard = 'new';

export function createCardPicker(link: PageLink, cards: readonly OfferedCard[], words: PickerTexts): CardPicker {
  const list = byId('saved-cards');
  const usable = cards.filter((card) => !isExpired(card));
  const first = usable.find((card) => card.is_default) ?? usable[0];
  let isComplete = false;
  let fields: CardFields | undefined;

  const chosen = (): string => list.querySelector<HTMLInputElement>('input:checked')?.value ?? newCard;

  function mountFields(): CardFields {
    fields ??= Svc(link, { baseUrl: serviceUrl() })
      .cardFields({
        theme: {
          mode: 'auto',
          radius: '10px',
          fontSize: '16px',
          fontFamily: getComputedStyle(document.body).fontFamily,
        },
        language: words.language,
        onReady: () => byId('card').classList.add('ready'),
        onChange: ({ complete }) => {
          isComplete = complete;
        },
      })
      .mount('#card');
    return fields;
  }

  function rowOf(card: OfferedCard): HTMLElement {
    const text = filled(isExpired(card) ? words.cardExpired : words.cardExpires, { date: expiryText(card) });
    const row = cardChoice(card.id, brandMark(card.brand), cardName(card), text);
    const input = row.querySelector('input');
    if (input) {
      input.disabled = isExpired(card);
      input.checked = card === first;
    }
    return row;
  }

  function showChoice(): void {
    const isNew = chosen() === newCard;
    byId('card-area').hidden = !isNew;
    if (isNew) mountFields();
  }

  list.hidden = cards.length === 0;
  const another = cardChoice(newCard, drawing('brand-unknown', 'brand'), words.newCard, '');
  list.replaceChildren(...cards.map(rowOf), ...(cards.length > 0 ? [another] : []));
  if (!first) another.querySelector('input')?.click();
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
    unmount() {
      list.removeEventListener('change', showChoice);
      fields?.unmount();
      fields = undefined;
    },
  };
}

/** A page is at /checkout/…, for example; the card fields are beside that folder. */
const serviceUrl = (): string => new URL('..', location.href).href;
