import { money } from '../format.ts';
import { orders } from '../texts/orders.ts';
import type { Product } from '../types.ts';
import { Field, wholeNumber } from './fields.tsx';
import { Picker } from './picker.tsx';
import { type Row, Rows } from './rows.tsx';

export interface Line extends Row {
  readonly product: Product | undefined;
  readonly quantity: string;
}

/** The first line of a page has the key 0. */
export const emptyLine = (key: number): Line => ({ key, product: undefined, quantity: '1' });

export const itemsOf = (lines: readonly Line[]) =>
  lines.map(({ product, quantity }) => ({ product_id: product?.id ?? '', quantity: Number(quantity) }));

/** The errors of lines, by their API field names. */
export function checkLines(lines: readonly Line[], path: string): Record<string, string | undefined> {
  return Object.fromEntries(
    lines.flatMap(({ product, quantity }, index) => [
      [`${path}[${index}].product_id`, product ? undefined : orders.chooseProduct],
      [`${path}[${index}].quantity`, /^[1-9]\d*$/.test(quantity.trim()) ? undefined : orders.wrongQuantity],
    ]),
  );
}

interface ProductLinesProps {
  readonly lines: readonly Line[];
  readonly onChange: (lines: readonly Line[]) => void;
  readonly path: string;
  readonly errorOf: (path: string) => string | undefined;
  readonly least?: number;
}

/** Products with their quantities. */
export function ProductLines({ lines, onChange, path, errorOf, least = 0 }: ProductLinesProps) {
  return (
    <Rows
      rows={lines}
      onChange={onChange}
      blank={emptyLine}
      add={orders.addItem}
      remove={orders.removeItem}
      least={least}
    >
      {(line, index, change) => (
        <div className="flex items-start gap-3">
          <div className="min-w-0 grow">
            <Picker<Product>
              label={orders.product}
              path="/v1/products"
              query={{ active: true }}
              textOf={({ name }) => name}
              detailOf={({ pricing }) => money(pricing.amount, pricing.currency)}
              value={line.product}
              error={errorOf(`${path}[${index}].product_id`)}
              onChange={(product) => change({ product })}
              autoFocus={line.key > 0}
            />
          </div>
          <div className="w-20 shrink-0">
            <Field label={orders.quantity} error={errorOf(`${path}[${index}].quantity`)}>
              {(attributes) => (
                <input
                  {...attributes}
                  {...wholeNumber}
                  className="control"
                  value={line.quantity}
                  onChange={(event) => change({ quantity: event.target.value })}
                />
              )}
            </Field>
          </div>
        </div>
      )}
    </Rows>
  );
}
