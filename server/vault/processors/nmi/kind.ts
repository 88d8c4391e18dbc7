import { minuteMs, secondMs } from '../../../platform/durations.ts';
import { currencies as knownCurrencies } from '../../../platform/currencies.ts';
import { Secret } from '../../../platform/secret.ts';
import { allowedUrl, ConfigurationProblem, type ProcessorKind } from '../kind.ts';
import { nmiProcessor } from './adapter.ts';
import { securityCodeRequest } from './codes.ts';

/**
 * NMI's own hosts, and the gateways under other names that public code uses most. Card data is sent there, so others
 * need the permission of the operator.
 */
const origins = [
  'https://secure.nmi.com',
  'https://secure.networkmerchants.com',
  'https://sandbox.nmi.com',
  'https://*.transactiongateway.com',
  'https://secure.easypaydirectgateway.com',
  'https://secure.merchantonegateway.com',
  'https://secure.cocardgateway.com',
] as const;

/** NMI takes no longer time. */
const duplicateSecondsMax = 7_862_400;

export const nmiKind: ProcessorKind = {
  kind: 'nmi',
  name: 'NMI',
  fields: [
    {
      name: 'security_key',
      label: 'Security Key',
      help: 'In the merchant portal under Settings, Security Keys, Private Security Keys. Create one with the permissions API and Query.',
      isSecret: true,
      pattern: /^(v4_secret_)?[A-Za-z0-9]{20,64}$/,
      rule: 'must be a private security key of letters and digits. A tokenization or checkout key, with hyphens or the word public, belongs on web pages',
    },
    {
      name: 'signing_key',
      label: 'Webhook signing key',
      help: 'In the merchant portal under Settings, Webhooks: add an endpoint with our notice URL, and copy the signing key that the page shows. You can enter it after you have connected, when you know our notice URL. Until then, webhooks are refused.',
      isSecret: true,
      isOptional: true,
      pattern: /^[!-~]{8,200}$/,
      rule: 'must be the signing key of the page Webhooks: 8 to 200 characters without spaces',
    },
    {
      name: 'currencies',
      label: 'Currencies',
      help: 'The currencies that your NMI processors take, for example "usd, cad". Charges in others are refused before anything is sent. Empty: NMI decides.',
      isSecret: false,
      isOptional: true,
      pattern: /^[A-Za-z]{3}(\s*,\s*[A-Za-z]{3})*$/,
      rule: 'must be codes of three letters, separated by commas',
    },
    {
      name: 'dup_seconds',
      label: 'Duplicate check',
      help: 'For how many seconds NMI refuses the same amount of the same card. Empty: 0, because a customer may pay the same amount twice, and each charge is sent only once. NMI itself would choose 1200.',
      isSecret: false,
      isOptional: true,
      pattern: /^\d{1,7}$/,
      rule: 'must be a number of seconds, at most 7862400',
    },
    {
      name: 'processor_id',
      label: 'Processor ID',
      help: 'Only if your NMI account has several processors: the ID of the one that takes the charges of this connection. In the merchant portal under Settings, Transaction Routing.',
      isSecret: false,
      isOptional: true,
      pattern: /^[\w.-]{1,64}$/,
      rule: 'must be an ID of letters, digits, hyphens, dots and underscores',
    },
    {
      name: 'statement_descriptor',
      label: 'Statement descriptor',
      help: 'What customers read on their card statement, for example TEA HOUSE. Only some processors of NMI take it; others refuse the charge, so ask your provider before.',
      isSecret: false,
      isOptional: true,
      pattern: /^(?=.*[A-Za-z])[A-Za-z0-9 .,&*-]{1,22}$/,
      rule: 'must have at most 22 letters, digits, spaces and . , & * - and at least one letter',
    },
    {
      name: 'api_url',
      label: 'Gateway URL',
      help: 'Only if your gateway is not at secure.nmi.com: the address at which you sign in, for example https://secure.networkmerchants.com.',
      isSecret: false,
      isOptional: true,
    },
  ],
  origins,
  /**
   * NMI executes a request whenever it arrives, and has no way to reject a late one. So this is longer than a request
   * can live: our timeout of 15 s, about 2 minutes in which the kernel still delivers what a closed connection had sent,
   * the time that a web server and a card network take, and the delay of reports.
   */
  requestLifeMs: 15 * minuteMs,
  timeoutMs: 15 * secondMs,
  sendsNotices: true,
  reportsNoDecisions: true,
  securityCodeRequest,
  // It is the name of the company.
  sharesAccountIds: true,
  open(
    {
      security_key = '',
      signing_key,
      currencies = '',
      dup_seconds = '',
      processor_id,
      statement_descriptor,
      api_url = origins[0],
    },
    options,
  ) {
    const codes = currencies.split(',').flatMap((code) => (code.trim() === '' ? [] : [code.trim().toLowerCase()]));
    const unknown = codes.find((code) => !knownCurrencies.has(code));
    if (unknown) throw new ConfigurationProblem('currencies', `contains ${unknown}, which is not a currency`);
    const duplicateSeconds = Number(dup_seconds);
    if (duplicateSeconds > duplicateSecondsMax) {
      throw new ConfigurationProblem('dup_seconds', `must be at most ${duplicateSecondsMax}`);
    }
    const url = allowedUrl('api_url', api_url, origins, options);
    return nmiProcessor({
      url: new URL(url).origin,
      securityKey: new Secret(security_key),
      currencies: codes,
      signingKey: signing_key === undefined ? undefined : new Secret(signing_key),
      sale: { duplicateSeconds, processorId: processor_id, descriptor: statement_descriptor },
      timeoutMs: options.timeoutMs,
    });
  },
};
