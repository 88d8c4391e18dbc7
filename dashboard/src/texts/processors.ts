/** What the API does not say about a kind of processor. */
interface KindTexts {
  readonly for: string;
  /** Where the owner enters the notice URL. */
  readonly notices?: string;
}

const kinds: Readonly<Record<string, KindTexts>> = {
  stripe: {
    for: 'Your Stripe account. Stripe must allow it to send card numbers, which requires proof of PCI compliance.',
    notices:
      'In the Stripe dashboard, open Developers, Webhooks, add an endpoint with this URL, and copy its signing secret. Then enter the secret here with Replace credentials.',
  },
  nmi: {
    for: 'Your merchant account at NMI, or at a gateway that is powered by NMI.',
    notices:
      'In the merchant portal, open Settings, Webhooks, add an endpoint with this URL, and choose all events. Copy the signing key of the page, and enter it with Replace credentials.',
  },
  adyen: {
    for: 'Your Adyen merchant account, with the permission to send card numbers.',
    notices:
      'In the Adyen Customer Area, open Developers, Webhooks, and enter this URL as the server URL of your standard webhook. Generate its HMAC key, and enter the key with Replace credentials.',
  },
  acquirer: {
    for: 'An acquirer, or a bridge to another processor, that your service operator offers.',
    notices: 'Enter this URL at your acquirer as the address for webhooks.',
  },
};

const otherKind: KindTexts = {
  for: 'Take live payments with this processor.',
  notices: 'Enter this URL at your processor as the address for webhooks or notifications.',
};

export const kindTexts = (kind: string): KindTexts => kinds[kind] ?? otherKind;

export const processors = {
  title: 'Processors',
  lead: 'Live payments go to the first processor in the list whose rules they meet. Saved cards work with every processor.',
  sandboxTitle: 'The sandbox uses a simulated processor',
  sandbox: 'You do not need to connect anything to test. Use test cards to try every outcome.',
  toLive: 'Switch to live to connect a processor.',
  testCards: 'View test cards',
  emptyTitle: 'Connect your first processor',
  empty:
    'A processor charges your customers’ cards and pays out to your bank account. Connect your account there to accept live payments. You can connect several, and change the order at any time.',
  ask: 'Ask your service operator to offer a processor.',
  connect: 'Connect processor',
  chooseKind: 'Choose a processor',
  back: 'Choose another processor',
  connectKind: (kind: string) => `Connect ${kind}`,
  connectNow: 'Connect',
  name: 'Name',
  nameHint: 'Shown only to your team.',
  secretHint: 'Stored encrypted and never shown again.',
  test: 'Test connection',
  testHint: 'A harmless call that charges nothing.',
  works: (account: string | null) => (account ? `It works. The account is ${account}.` : 'It works.'),
  connected: 'Processor connected.',
  connectedTitle: (name: string) => `${name} is connected`,
  connectedText: 'One step is left, so that you learn about disputes, failed refunds and late outcomes:',
  position: (position: number, count: number) => `${position} of ${count}`,
  moveUp: (name: string) => `Move ${name} up`,
  moveDown: (name: string) => `Move ${name} down`,
  moved: 'Order saved.',
  statuses: { connected: 'Connected', disconnected: 'Disconnected', removed: 'Removed' },
  earlier: 'Earlier processors',
  earlierLead:
    'They take no new payments. Refunds, lookups and disputes of their payments work until you remove the credentials.',
  noneConnected: 'No processor is connected, so live payments are rejected.',
  takes: 'Takes',
  takesAll: 'All payments',
  takesShare: (share: number) => `${share}% of the traffic`,
  health: 'Last five minutes',
  noCalls: 'No calls',
  calls: (calls: number, failures: number) =>
    `${calls === 1 ? '1 call' : `${calls} calls`}, ${failures === 0 ? 'none failed' : `${failures} failed`}`,
  lastCalls: 'Last calls',
  outcomes: {
    approved: 'Approved',
    declined: 'Declined',
    refused: 'Credentials rejected',
    not_sent: 'Not sent',
    unknown: 'Unknown',
    unavailable: 'Not sent: the vault was unavailable',
    not_found: 'Not found',
    conflict: 'Conflict',
    expired: 'Expired',
  } as Readonly<Record<string, string>>,
  broken: 'Not responding: payments try other processors first',
  refused: 'Credentials rejected',
  refusedSince: 'The processor rejects the credentials. First rejected:',
  refusedText: (isOnly: boolean) =>
    isOnly
      ? 'Until you replace them, new orders fail and renewals wait. Renewals that wait are charged within five minutes after that.'
      : 'Until you replace them, payments go to the next processor.',
  rejected: {
    charge: 'Payments rejected',
    capture: 'Captures rejected',
    refund: 'Refunds rejected',
    void: 'Voids rejected',
    verification: 'Card checks rejected',
  },
  rejectedSince: {
    charge: 'The processor rejects payments because of the account, not of the cards. First rejected:',
    capture: 'The processor rejects captures because of the account. First rejected:',
    refund: 'The processor rejects refunds because of the account. First rejected:',
    void: 'The processor rejects voids because of the account. First rejected:',
    verification: 'The processor does not check new cards because of the account. First rejected:',
  },
  rejectedText: {
    charge: 'Correct the account at the processor, or ask its support. Payments fail until one is approved again.',
    capture:
      'Correct the account at the processor, or ask its support, and capture the payments before their authorizations end. This disappears when a capture is approved.',
    refund:
      'Correct the account at the processor, or ask its support, and repeat the refunds. This disappears when a refund is approved.',
    void: 'Correct the account at the processor, or ask its support, and repeat the voids. This disappears when a void is approved.',
    verification:
      'Correct the account at the processor, or ask its support. Until then, new cards are saved without a check. This disappears when a card is checked.',
  },
  rejectedElsewhere:
    'Correct the account at the processor, or ask its support. Rejected payments go to the next processor.',
  codeWanted: 'Charges of saved cards rejected',
  codeWantedSince: 'The account at the processor requires the CVC for every charge, and saved cards have none. Since:',
  codeWantedText: 'Payments go to the next processor, or fail. Send this to the support of the processor:',
  unlinkedSince: 'Payments come without the reference of the card network. First seen:',
  unlinkedText:
    'Turn it on in your account with the processor, or ask its support. Until then, renewals have no link to the first payment, and banks decline more of them.',
  since: 'Connected since',
  until: 'Disconnected since',
  notices: 'Webhooks',
  noticeSeen: 'Last webhook received',
  noticeRefused: 'A webhook was rejected',
  noticeRefusedHint:
    'Disputes and late outcomes do not arrive. Copy the secret from the processor again, and enter it with Replace credentials.',
  noNotice: 'No webhook received yet.',
  copyUrl: 'Copy URL',
  noticesNone: 'This processor sends no webhooks. We ask it for changes from time to time.',
  verifies: 'Verify cards when they are saved',
  verifiesHint:
    'The processor checks the CVC and the address of a new card without charging it. Cards on checkout pages are checked by their first payment instead. The result does not appear in the response, so it does not help to test stolen cards. The processor may charge a fee for each check.',
  verifiesOn: 'New cards are verified.',
  verifiesOff: 'New cards are no longer verified.',
  rename: 'Rename',
  renamed: 'Name saved.',
  rules: 'Rules',
  editRules: 'Edit rules',
  rulesLead:
    'This processor takes only the payments that meet all of its rules. If no processor takes a payment, the payment is rejected.',
  rulesSaved: 'Rules saved.',
  currencies: 'Currencies',
  currenciesHint: 'Codes separated by commas, for example usd, eur. Leave it empty to take every currency.',
  currenciesInvalid: 'Enter codes of three letters separated by commas, for example usd, eur.',
  brands: 'Card brands',
  brandsHint: 'Select none to take every brand.',
  brandNames: {
    visa: 'Visa',
    mastercard: 'Mastercard',
    amex: 'American Express',
    discover: 'Discover',
    diners: 'Diners Club',
    jcb: 'JCB',
    unionpay: 'UnionPay',
    maestro: 'Maestro',
    unknown: 'Other brands',
  },
  share: 'Traffic share',
  shareHint:
    'Percentage of these payments that try this processor first. The rest go to the next one. Leave empty for 100%.',
  shareInvalid: 'Enter a whole number from 1 to 100.',
  credentials: 'Replace credentials',
  credentialsLead:
    'Fields that you leave empty keep their values. The new credentials are used at once, also for refunds of earlier payments.',
  keep: 'Keep the current value',
  credentialsSaved: 'Credentials replaced.',
  disconnect: 'Disconnect',
  disconnectText: (name: string) =>
    `New payments no longer use ${name}. Refunds, lookups and disputes of its earlier payments still work, because its credentials stay stored.`,
  disconnectLast: 'It is your only processor. Without another one, live payments are rejected.',
  disconnected: 'Processor disconnected.',
  reconnect: 'Reconnect',
  reconnectText: (name: string) => `New payments use ${name} again, after the other processors in the list.`,
  reconnected: 'Processor reconnected.',
  remove: 'Remove credentials',
  removeText: (name: string) => `We delete the credentials of ${name}. This cannot be undone.`,
  removeWarning:
    'You can then no longer refund its payments or answer their disputes here. Do so in the dashboard of the processor instead.',
  removed: 'Credentials removed.',
};
