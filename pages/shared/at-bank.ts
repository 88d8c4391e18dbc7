import { inPageLocale } from './page-texts.ts';

/** What pages need that lead to the bank of the customer and are come back to. */

const parametersMax = 20;
const lengthMax = 4_096;

/**
 * The parameters with which the browser came back from the bank, which the service sees once and the address no longer shows.
 * Undefined if the page was opened otherwise.
 */
export function takeReturn(): Readonly<Record<string, string>> | undefined {
  const parameters = [...new URLSearchParams(location.search)];
  if (!parameters.some(([name]) => name === 'returned')) return undefined;
  history.replaceState(null, '', inPageLocale(location.pathname));
  return Object.fromEntries(
    parameters
      .filter(([name, value]) => name !== 'locale' && name.length <= 100 && value.length <= lengthMax)
      .slice(0, parametersMax),
  );
}

/** What banks ask about a browser. */
export const browserReport = () => ({
  language: navigator.language.slice(0, 35),
  color_depth: screen.colorDepth,
  screen_height: Math.round(screen.height),
  screen_width: Math.round(screen.width),
  time_zone_offset: new Date().getTimezoneOffset(),
});
