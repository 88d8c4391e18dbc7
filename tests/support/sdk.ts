import { Svc, type SvcOptions } from '../../sdk/node/src/index.ts';
import { operations } from '../../sdk/node/src/generated/operations.ts';
import type { CustomerCreate, ProductCreate } from '../../sdk/node/src/index.ts';
import { checkAgainstDocument } from './openapi.ts';
import type { TestService } from './service.ts';

/** The SDK against the real service, with a record of its requests. */

interface Attempt {
  readonly operation: string;
  readonly url: string;
  readonly headers: Headers;
  readonly status: number | undefined;
}

export interface RecordedSdk {
  readonly svc: Svc;
  readonly attempts: Attempt[];
}

export function recordedSdk(
  service: TestService,
  { key = service.key, ...options }: Partial<SvcOptions> & { readonly key?: string } = {},
): RecordedSdk {
  const attempts: Attempt[] = [];
  const recordingFetch: typeof fetch = async (input, init) => {
    const url = input as string;
    const method = init?.method ?? 'GET';
    const path = url.slice(new URL(url).origin.length);
    const headers = new Headers(init?.headers);
    const sent = { operation: operationOf(method, path), url, headers };
    const response = await fetch(input, init).catch((error: unknown) => {
      attempts.push({ ...sent, status: undefined });
      throw error;
    });
    attempts.push({ ...sent, status: response.status });
    const text = await response.clone().text();
    if (text.startsWith('{'))
      checkAgainstDocument(method, path, { status: response.status, headers: response.headers, text });
    return response;
  };
  return { svc: new Svc(key, { baseUrl: service.baseUrl, fetch: recordingFetch, ...options }), attempts };
}

// A fixed segment (images/reorder) takes precedence over an id, as in the router.
const patterns = Object.entries(operations)
  .map(([id, { method, path }]) => ({
    id,
    method,
    path,
    expression: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
  }))
  .toSorted((left, right) => left.path.split('{').length - right.path.split('{').length);

function operationOf(method: string, path: string): string {
  const [plain = ''] = path.split('?', 1);
  return patterns.find((one) => one.method === method && one.expression.test(plain))?.id ?? `${method} ${plain}`;
}

let counter = 0;

export function aCustomer(overrides: Partial<CustomerCreate> = {}): CustomerCreate {
  counter += 1;
  const number = String(counter).padStart(7, '0');
  return {
    email: `sdk-${process.pid}-${number}@example.com`,
    first_name: 'Ada',
    last_name: 'Lovelace',
    phone: `+1556${number}`,
    ...overrides,
  };
}

export function aProduct(overrides: Partial<ProductCreate> = {}): ProductCreate {
  counter += 1;
  return {
    name: 'Tea pot',
    description: 'Holds six cups.',
    pricing: { amount: 4900, currency: 'usd' },
    requires_shipping: true,
    sku: `sdk-${process.pid}-${counter}`,
    ...overrides,
  };
}

export const aCard = (number = '4242424242424242') => ({ number, exp_month: '12', exp_year: '2031', cvc: '999' });

/** Creates a customer with a card, and a product. */
export async function aShop(
  svc: Svc,
  number?: string,
): Promise<{ customerId: string; cardId: string; productId: string }> {
  const customer = await svc.customers.create(aCustomer());
  const card = await svc.paymentMethods.capture({ customer_id: customer.id, card: aCard(number) });
  const product = await svc.products.create(aProduct());
  return { customerId: customer.id, cardId: card.id, productId: product.id };
}
