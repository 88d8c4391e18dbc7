export const consents = {
  title: 'Agreed to at checkout',
  kinds: { terms: 'Terms', renewal: 'Renewal', save_card: 'Saving the card' },
  versionOf: (version: string, locale: string) => `version ${version}, in ${locale}`,
  terms: 'Terms',
};
