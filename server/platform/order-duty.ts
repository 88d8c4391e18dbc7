/**
 * The countries in which the button of an order has to say that the order obliges to pay (Directive 2011/83/EU, article 8): the European
 * Union, the rest of the European Economic Area, and the United Kingdom.
 */
const countries = new Set(
  'AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK IS LI NO GB'.split(' '),
);

export const mustNameDuty = (country: string | null | undefined): boolean => countries.has(country ?? '');
