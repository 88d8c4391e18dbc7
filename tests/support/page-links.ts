import { confirmationUrl } from '../../server/features/confirmations/token.ts';
import type { ServiceKeys } from '../../server/platform/service-keys.ts';

/** What charges need to lead customers to pages. */
export const pageParts = (keys: ServiceKeys, { baseUrl = 'http://service.test' }: { readonly baseUrl?: string }) => ({
  stepKey: keys['page-links'],
  confirmationUrl: confirmationUrl(keys['page-links'], baseUrl),
});
