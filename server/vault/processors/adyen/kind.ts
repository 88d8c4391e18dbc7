import { systemClock } from '../../../platform/clock.ts';
import { Secret } from '../../../platform/secret.ts';
import { allowedUrl, type Configuration, ConfigurationProblem, type OpenOptions, type ProcessorKind } from '../kind.ts';
import { adyenProcessor } from './adapter.ts';
import { securityCodeRequest } from './codes.ts';
import { evidenceLimits } from './disputes.ts';
import { checkoutVersion } from './requests.ts';

const checkoutOrigins = ['https://checkout-test.adyen.com', 'https://*-checkout-live.adyenpayments.com'];
const disputesOrigins = ['https://ca-test.adyen.com', 'https://ca-live.adyen.com'];
const disputesPath = '/ca/services/DisputeService/v30';

/** At the end of the URL of a test system: it has test accounts. */
const testMark = '#test';

interface Hosts {
  readonly checkoutUrl: string;
  readonly disputesUrl: string;
  readonly isLive: boolean;
}

/** Live accounts have a host of their own. Without its prefix, the test environment is used. */
function hostsOf({ live_url_prefix: prefix, api_url: url }: Configuration, options: OpenOptions): Hosts {
  const live = prefix && `https://${prefix.toLowerCase()}-checkout-live.adyenpayments.com/checkout/${checkoutVersion}`;
  const wanted = url ?? live ?? `https://checkout-test.adyen.com/${checkoutVersion}`;
  const checkoutUrl = allowedUrl(url === undefined ? 'live_url_prefix' : 'api_url', wanted, checkoutOrigins, options);
  const { origin, hash, href } = new URL(checkoutUrl);
  if (origin.endsWith('.adyenpayments.com')) {
    return { checkoutUrl, disputesUrl: `https://ca-live.adyen.com${disputesPath}`, isLive: true };
  }
  const isTest = origin === checkoutOrigins[0];
  const disputesUrl = `${isTest ? 'https://ca-test.adyen.com' : origin}${disputesPath}`;
  return { checkoutUrl: href.replace(hash, ''), disputesUrl, isLive: !isTest && hash !== testMark };
}

export const adyenKind: ProcessorKind = {
  kind: 'adyen',
  name: 'Adyen',
  fields: [
    {
      name: 'api_key',
      label: 'API key',
      help: 'Customer Area, Developers, API credentials: create a credential and generate its API key. It needs the roles Checkout webservice role, Merchant PAL Webservice role and API PCI Payments role.',
      isSecret: true,
      pattern: /^AQ[A-Za-z0-9+/=._:^&*(){}[\]<>?!@#$%~|,;'"`-]{30,500}$/,
      rule: 'must be the API key of an API credential, which starts with AQ. A client key (test_ or live_) or an HMAC key is something else',
    },
    {
      name: 'merchant_account',
      label: 'Merchant account',
      help: 'The name of the merchant account that takes the payments, as the Customer Area shows it at the top. The company account is something else.',
      isSecret: false,
      pattern: /^[A-Za-z0-9_-]{1,80}$/,
      rule: 'must be the name of the merchant account: letters, digits, _ and -',
    },
    {
      name: 'live_url_prefix',
      label: 'Live URL prefix',
      help: 'Live Customer Area, Developers, API URLs, Prefix: for example 1797a841fbb37ca7-AcmeInc. Without it, requests go to the test environment of Adyen, which a live company cannot use.',
      isSecret: false,
      isOptional: true,
      pattern: /^[A-Za-z0-9]+(-[A-Za-z0-9]+)+$/,
      rule: 'must be only the prefix, without https:// and without -checkout-live',
    },
    {
      name: 'hmac_key',
      label: 'HMAC key',
      help: 'Customer Area, Developers, Webhooks, your standard webhook, Security: generate the HMAC key. It signs the notices. You can enter it after you have connected, when you know our notice URL. Until then, notices are refused.',
      isSecret: true,
      isOptional: true,
      pattern: /^[0-9A-Fa-f]{64}$/,
      rule: 'must have 64 hexadecimal digits',
    },
    {
      name: 'webhook_username',
      label: 'Webhook user name',
      help: 'The user name that you entered for basic authentication of the webhook. Recommended: the HMAC signature does not cover every field.',
      isSecret: false,
      isOptional: true,
      pattern: /^[^:]{1,100}$/,
      rule: 'must have at most 100 characters and no colon',
    },
    {
      name: 'webhook_password',
      label: 'Webhook password',
      help: 'The password for basic authentication of the webhook.',
      isSecret: true,
      isOptional: true,
    },
    {
      name: 'verification_currency',
      label: 'Currency of card checks',
      help: 'A currency that your merchant account accepts, for example EUR. Cards are checked with an amount of zero in it. Without a value: USD.',
      isSecret: false,
      isOptional: true,
      pattern: /^[A-Z]{3}$/,
      rule: 'must be three capital letters, for example EUR',
    },
    {
      name: 'statement_descriptor',
      label: 'Statement descriptor',
      help: 'What customers read on their card statement, for example TEA HOUSE. Without it, Adyen uses the one of the merchant account.',
      isSecret: false,
      isOptional: true,
      pattern: /^(?=.*[A-Za-z])[A-Za-z0-9 .,'_?+*/-]{1,22}$/,
      rule: "must have at most 22 letters, digits, spaces and . , ' _ - ? + * / and at least one letter",
    },
    {
      name: 'api_url',
      label: 'URL of the Checkout API',
      help: 'Only for test systems: the URL of another host, with the version, and #test if its accounts are test accounts.',
      isSecret: false,
      isOptional: true,
      isHidden: true,
    },
  ],
  origins: [...checkoutOrigins, ...disputesOrigins],
  requestLifeMs: 60_000,
  timeoutMs: 20_000,
  sendsNotices: true,
  hidesNetworkReferences: true,
  cannotList: true,
  securityCodeRequest,
  evidence: evidenceLimits,
  open(configuration, options) {
    const { api_key = '', merchant_account = '', hmac_key, webhook_username, webhook_password } = configuration;
    if ((webhook_username === undefined) !== (webhook_password === undefined)) {
      const missing = webhook_username === undefined ? 'webhook_username' : 'webhook_password';
      throw new ConfigurationProblem(missing, 'is required, because user name and password belong together');
    }
    const basic = webhook_username !== undefined &&
      webhook_password !== undefined && { username: webhook_username, password: new Secret(webhook_password) };
    return adyenProcessor({
      ...hostsOf(configuration, options),
      apiKey: new Secret(api_key),
      notices: {
        merchantAccount: merchant_account,
        ...(hmac_key !== undefined && { hmacKey: new Secret(hmac_key) }),
        ...(basic && { basic }),
      },
      descriptor: configuration.statement_descriptor,
      verificationCurrency: configuration.verification_currency ?? 'USD',
      timeoutMs: options.timeoutMs,
      clock: systemClock,
    });
  },
};
