import { reportXml } from './books.ts';

/** A processor of the account. Without currencies, it takes all. */
export interface AccountProcessor {
  readonly id: string;
  readonly currencies?: readonly string[];
}

/** The rules that a merchant sets in the portal of NMI. A new account has none of them, and one processor. */
export interface AccountRules {
  readonly processors: readonly AccountProcessor[];
  /** "Require CVV". */
  readonly requires_cvv: boolean;
  /** The letters of answers about the code with which a charge is rejected. */
  readonly rejected_cvv: string;
  /** The same about the address. */
  readonly rejected_avs: string;
}

export const noRules: AccountRules = {
  processors: [{ id: 'ccprocessora' }],
  requires_cvv: false,
  rejected_cvv: '',
  rejected_avs: '',
};

/** The one that the request names, or the first one of the account. */
export function processorOf(
  { processors }: AccountRules,
  fields: URLSearchParams,
): AccountProcessor | { readonly problem: string } {
  const wanted = fields.get('processor_id');
  const processor = wanted === null ? processors[0] : processors.find(({ id }) => id === wanted);
  if (!processor) return { problem: 'Invalid Processor ID' };
  const currency = (fields.get('currency') ?? 'USD').toUpperCase();
  if (fields.get('type') !== 'sale' || !processor.currencies || processor.currencies.includes(currency))
    return processor;
  return { problem: `The cc payment type [Visa] and/or currency [${currency}] is not accepted` };
}

export const checksOf = (fields: URLSearchParams): { readonly avs: string; readonly cvv: string } => ({
  avs: fields.has('zip') && fields.get('zip') !== '00000' ? 'Y' : 'N',
  cvv: fields.has('cvv') ? (fields.get('cvv') === '999' ? 'N' : 'M') : '',
});

/** The text with which NMI rejects the request before it asks the processor. */
export function missingCode({ requires_cvv }: AccountRules, fields: URLSearchParams): string | undefined {
  return requires_cvv && !fields.has('cvv') ? 'CVV is required' : undefined;
}

/** The text with which NMI declines what its processor has approved. It voids the authorization itself. */
export function ruleAgainst({ rejected_cvv, rejected_avs }: AccountRules, fields: URLSearchParams): string | undefined {
  const { avs, cvv } = checksOf(fields);
  // A code that was not sent was not processed.
  if (rejected_cvv.includes(cvv === '' ? 'P' : cvv)) return 'CVV REJECTED';
  return rejected_avs.includes(avs) ? 'AVS REJECTED' : undefined;
}

/** The report of the account. With details, it has the fields that the processors require. */
export function profileXml({ requires_cvv, processors }: AccountRules, hasDetails: boolean): string {
  const required = requires_cvv ? '<required_fields>cvv</required_fields>' : '<required_fields></required_fields>';
  const each = processors.map(({ id }) => `<processor><processor_id>${id}</processor_id>${required}</processor>`);
  const details = `<processors>${each.join('')}</processors>`;
  return reportXml(`<merchant><company>Fake Company</company></merchant>${hasDetails ? details : ''}`);
}
