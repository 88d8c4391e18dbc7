import { brandColors } from './colors.ts';
import { byId, type Reachable, setLink, setProperties } from './dom.ts';

/** The head of a page: the merchant with its logo and color, and the way back to its site. */

type HeaderMerchant = Pick<PageMerchant, 'name' | 'logo_url' | 'color'>;

/** What every page knows about the merchant. */
export interface PageMerchant extends Reachable {
  readonly name: string;
  readonly logo_url: string | null;
  readonly color: string | null;
}

interface HeaderOptions {
  readonly livemode: boolean;
  /** Stands in the place of “Sandbox”. */
  readonly mode?: string | false;
  readonly title: string;
  readonly back: { readonly url: string | null; readonly label: string };
}

export function showHeader(merchant: HeaderMerchant, { livemode, mode, title, back }: HeaderOptions): void {
  setProperties(brandColors(merchant.color ?? ''));
  document.title = title;
  byId('merchant-name').textContent = merchant.name;
  byId('mark').textContent = [...merchant.name][0]?.toUpperCase() ?? '';
  byId('sandbox').hidden = livemode;
  if (mode) byId('sandbox').textContent = mode;
  setLink('back', back.url);
  byId('back').setAttribute('aria-label', back.label);
  if (merchant.logo_url) showLogo(merchant.logo_url);
}

/** The first letter of the name stands in until the logo is there. */
function showLogo(url: string): void {
  const logo = byId('logo', HTMLImageElement);
  if (logo.getAttribute('src') === url) return;
  logo.addEventListener('load', () => {
    logo.hidden = false;
    byId('mark').hidden = true;
  });
  logo.src = url;
}
