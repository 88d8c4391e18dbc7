import { companyAddress } from '../../http/page-token.ts';
import type { PageRouteRequest } from '../../http/page-caller.ts';
import type { RequestContext } from '../../request-context.ts';
import type { BrowserDetails, Presence } from '../../vault/processors/authentication.ts';
import type { BrowserInput } from './page-schemas.ts';

/** The customer is on a page, which can lead to the bank. Banks insist on what the page reports about the browser. */
export function withPresence(
  context: RequestContext,
  { userAgent, acceptHeader }: PageRouteRequest<unknown, unknown>['browser'],
  page: { readonly baseUrl: string; readonly path: string },
  reported: BrowserInput | undefined,
): RequestContext {
  const { company } = context;
  if (!reported || userAgent === '') return context;
  const presence: Presence = {
    returnUrl: page.baseUrl + page.path,
    userAgent,
    acceptHeader,
    browser: detailsOf(reported),
    ...(company.mode === 'sandbox' && { sandboxBankUrl: `${page.baseUrl}/sandbox/bank/${companyAddress(company.id)}` }),
  };
  return { ...context, presence };
}

const detailsOf = (reported: BrowserInput): BrowserDetails => ({
  language: reported.language,
  colorDepth: reported.color_depth,
  screenHeight: reported.screen_height,
  screenWidth: reported.screen_width,
  timeZoneOffsetMinutes: reported.time_zone_offset,
});
