import type { Company } from '../../company.ts';
import { ApiError, invalidField } from '../../errors.ts';
import { textFormats } from '../../http/formats.ts';
import { limits } from '../../limits.ts';
import type { ControlQueryable } from '../../platform/database.ts';
import type { RequestContext } from '../../request-context.ts';
import { linkNameOf, setLinkName } from '../profile/service.ts';
import { claimName, findCompanyOfName } from './name-queries.ts';
import type { LinkName } from './schemas.ts';

/**
 * The name of a company in the addresses of its payment links. The control plane says to which company a name leads, because the
 * address is all that a visit has; the shard has the name that the company uses now.
 */

/** Companies without real money have addresses of their own, which cannot be taken for real ones. */
const prefixes = { sandbox: 'test-', rehearsal: 'rehearsal-', live: '' } as const;

/** Names that look like those of the service, of card networks or of payment processors. */
const reserved = new Set(
  `account accounts admin administrator api apple-pay auth bank billing card cards checkout customer customers dashboard demo docs
  google-pay help home login logout mail mailbox official owner pay payment payment-link payments paypal receipt receipts root
  secure security settings shop sign-in sign-up signin signup status stripe support svc system team test visa wallet webhook
  webhooks www mastercard maestro amex american-express discover diners jcb unionpay adyen square klarna`.split(/\s+/),
);

const prefixOf = ({ mode }: Pick<Company, 'mode'>): string => prefixes[mode];
const hasPrefix = (name: string): boolean => name.startsWith(prefixes.sandbox) || name.startsWith(prefixes.rehearsal);

export async function getName({ db, company }: RequestContext): Promise<LinkName> {
  const full = await linkNameOf(db, company.id);
  const prefix = prefixOf(company);
  return { prefix, name: full?.slice(prefix.length) ?? null };
}

/** Outside of a transaction, on the control plane: makes the name that of the company, for good. Returns it as addresses have it. */
export async function reserveName(
  { company }: RequestContext,
  control: ControlQueryable,
  name: string,
): Promise<string> {
  if (reserved.has(name) || hasPrefix(name)) {
    throw invalidField('name', 'is reserved. Choose the name of your company');
  }
  const full = prefixOf(company) + name;
  const owner = await claimName(control, full, company.id, limits.companyNames);
  if (owner === company.id) return full;
  if (owner) throw invalidField('name', 'is taken by another company. Choose another name');
  const message = `A company can have at most ${limits.companyNames} names, with those that it had before.`;
  throw new ApiError('invalid_request', message);
}

export async function useName(context: RequestContext, full: string): Promise<LinkName> {
  await setLinkName(context.db, context.company.id, full);
  return getName(context);
}

const part = textFormats.slug.pattern.slice(1, -1);
const readablePattern = new RegExp(`^(?<name>${part})/(?<slug>${part})$`);

/** The parts of `tea-house/autumn`. Undefined if it cannot be a readable address. */
export function partsOf(address: string): { readonly name: string; readonly slug: string } | undefined {
  const { name, slug } = readablePattern.exec(address)?.groups ?? {};
  return name && slug ? { name, slug } : undefined;
}

/** Finds the company of a name. A name never leads to another company, so what was found once is kept. */
export function companyNames(control: ControlQueryable): (name: string) => Promise<string | undefined> {
  const known = new Map<string, string>();
  return async (name) => {
    const found = known.get(name) ?? (await findCompanyOfName(control, name));
    if (known.size >= knownMax) known.clear();
    if (found) known.set(name, found);
    return found;
  };
}

const knownMax = 10_000;
