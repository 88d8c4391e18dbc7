import { brandNames } from '../../../server/platform/card-brands.ts';
import { brandName } from '../format.ts';

const known: readonly string[] = brandNames;

/** The mark of a card brand. The name of the brand stands beside it as text. */
export function CardMark({ brand }: { brand: string }) {
  return (
    <svg aria-hidden="true" className="h-[1.125rem] w-7 shrink-0 text-muted">
      <use href={`/card-brands.svg#brand-${known.includes(brand) ? brand : 'unknown'}`} />
    </svg>
  );
}

/** The mark stands for the name of the brand, which is there for screen readers. */
export function CardName({ card }: { card: { readonly card_brand: string; readonly card_last_four: string } }) {
  return (
    <span title={brandName(card.card_brand)} className="inline-flex items-center gap-2 align-middle whitespace-nowrap">
      <CardMark brand={card.card_brand} />
      <span>
        <span className="sr-only">{brandName(card.card_brand)} </span>•••• {card.card_last_four}
      </span>
    </span>
  );
}
