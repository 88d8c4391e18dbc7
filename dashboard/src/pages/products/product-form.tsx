import { amountText, readAmount } from '../../amounts.ts';
import { call } from '../../api.ts';
import { CurrencyField } from '../../components/choice-field.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { useEditForm } from '../../components/edit-form.tsx';
import {
  AreaField,
  CheckField,
  FieldRow,
  MoneyField,
  NumberField,
  SelectField,
  TextField,
} from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { editedFields, typedMoney } from '../../edits.ts';
import { slugOf } from '../../slug.ts';
import { common } from '../../texts/common.ts';
import { products } from '../../texts/products.ts';
import type { Product } from '../../types.ts';

interface ProductFormProps {
  readonly product?: Product;
  /** Of a new product. */
  readonly name?: string;
  readonly onClose: () => void;
  readonly onDone: (product: Product) => void;
}

const numberOrNull = (text: string): number | null => (text.trim() === '' ? null : Number(text));

const draftOf = (product?: Product) => ({
  name: product?.name ?? '',
  description: product?.description ?? '',
  amount: product ? amountText(product.pricing.amount, product.pricing.currency) : '',
  currency: product?.pricing.currency ?? 'usd',
  sku: product?.sku ?? '',
  requires_shipping: product?.requires_shipping ?? false,
  availability: product?.availability ?? 'in_stock',
  inventory_quantity: product?.inventory_quantity?.toString() ?? '',
  category: product?.category ?? '',
  brand: product?.brand ?? '',
  material: product?.material ?? '',
  weight: product?.weight ?? '',
  return_window: product?.return_window?.toString() ?? '',
});
type Draft = ReturnType<typeof draftOf>;

const bodyOf = (draft: Draft) => ({
  name: draft.name,
  description: draft.description || null,
  pricing: {
    amount: readAmount(draft.amount, draft.currency).amount,
    currency: draft.currency.trim().toLowerCase(),
  },
  sku: draft.sku.trim(),
  requires_shipping: draft.requires_shipping,
  availability: draft.availability,
  inventory_quantity: numberOrNull(draft.inventory_quantity),
  category: draft.category || null,
  brand: draft.brand || null,
  material: draft.material || null,
  weight: draft.weight || null,
  return_window: numberOrNull(draft.return_window),
});

const fields = editedFields<Draft>({
  name: common.name,
  price: {
    label: products.price,
    of: ['amount', 'currency'],
    path: 'pricing.amount',
    show: ({ amount, currency }) => typedMoney(amount, currency),
  },
  description: common.description,
  sku: products.sku,
  requires_shipping: products.requiresShipping,
  availability: { label: products.availability, choices: products.availabilities },
  inventory_quantity: products.inventory,
  category: products.category,
  brand: products.brand,
  material: products.material,
  weight: products.weight,
  return_window: products.returnWindow,
});

export function ProductForm({ product, name: newName = '', onClose, onDone }: ProductFormProps) {
  const form = useEditForm({
    object: product,
    path: `/v1/products/${product?.id}`,
    create: (body, key) => call<Product>('POST', '/v1/products', { body, key }),
    draftOf: (one) => (one ? draftOf(one) : { ...draftOf(), name: newName, sku: slugOf(newName) }),
    bodyOf,
    fields,
    check: ({ amount, currency }) => ({ 'pricing.amount': readAmount(amount, currency).problem }),
    onDone: (saved) => {
      onClose();
      onDone(saved);
    },
  });
  return (
    <Dialog title={product ? products.edit : products.add} onClose={onClose}>
      <Form form={form} submit={product ? common.save : products.add} onCancel={onClose}>
        <TextField
          form={form}
          name="name"
          label={common.name}
          onInput={({ currentTarget }) => {
            const { name, sku } = form.draft;
            // The SKU follows the name until the merchant types one.
            if (!product && sku === slugOf(name)) form.set('sku', slugOf(currentTarget.value));
          }}
        />
        <FieldRow>
          <MoneyField
            form={form}
            name="amount"
            path="pricing.amount"
            label={products.price}
            currency={form.draft.currency}
          />
          <CurrencyField form={form} name="currency" path="pricing.currency" />
        </FieldRow>
        <TextField form={form} name="sku" label={products.sku} hint={products.skuHint} />
        <AreaField form={form} name="description" label={common.description} />
        <FieldRow>
          <SelectField
            form={form}
            name="availability"
            label={products.availability}
            choices={Object.entries(products.availabilities).map(([value, label]) => ({ value, label }))}
          />
          <NumberField
            form={form}
            name="inventory_quantity"
            label={products.inventory}
            hint={products.inventoryHint}
            min={0}
          />
        </FieldRow>
        <FieldRow>
          <TextField form={form} name="category" label={products.category} placeholder={common.optional} />
          <TextField form={form} name="brand" label={products.brand} placeholder={common.optional} />
        </FieldRow>
        <FieldRow>
          <TextField form={form} name="material" label={products.material} placeholder={common.optional} />
          <TextField form={form} name="weight" label={products.weight} placeholder={products.weightHint} />
        </FieldRow>
        <NumberField
          form={form}
          name="return_window"
          label={products.returnWindow}
          placeholder={common.optional}
          min={0}
        />
        <CheckField form={form} name="requires_shipping" label={products.requiresShipping} />
      </Form>
    </Dialog>
  );
}
