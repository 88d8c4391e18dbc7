import { reportXml } from './books.ts';

/** The rules that a merchant sets in the portal of NMI. A new account has none of them. */
export interface AccountRules {
  /** "Require CVV". */
  readonly requires_cvv: boolean;
  /** The letters of answers about the code with which a charge is rejected. */
  readonly rejected_cvv: string;
  /** The same about the address. */
  readonly rejected_avs: string;
}

export const noRules: AccountRules = { requires_cvv: false, rejected_cvv: '', rejected_avs: '' };

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
export function profileXml({ requires_cvv }: AccountRules, hasDetails: boolean): string {
  const required = requires_cvv ? '<required_fields>cvv</required_fields>' : '<required_fields></required_fields>';
  const details = `<processors><processor><processor_id>main</processor_id>${required}</processor></processors>`;
  return reportXml(`<merchant><company>Fake Company</company></merchant>${hasDetails ? details : ''}`);
}
