import { Secret } from '../../../platform/secret.ts';
import { minuteMs } from '../../../platform/durations.ts';
import { allowedUrl, ConfigurationProblem, type ProcessorKind } from '../kind.ts';
import { stripeProcessor } from './adapter.ts';
import { evidenceLimits } from './disputes.ts';

const apiOrigin = 'https://api.stripe.com';
const filesOrigin = 'https://files.stripe.com';
const origins = [apiOrigin, filesOrigin];

const keyRule =
  'must be a secret key, which starts with sk_live_, or a restricted key, which starts with rk_live_. ' +
  'A publishable key (pk_) cannot charge';
const signingSecret = /^whsec_[\w+/=-]{8,}$/;

export const stripeKind: ProcessorKind = {
  kind: 'stripe',
  name: 'Stripe',
  fields: [
    {
      name: 'secret_key',
      label: 'Secret key',
      help: 'In the Stripe dashboard under Developers, API keys. Not the publishable key.',
      isSecret: true,
      pattern: /^[sr]k_(live|test)_\w{8,}$/,
      rule: keyRule,
    },
    {
      name: 'signing_secret',
      label: 'Signing secret',
      help:
        'Create a webhook endpoint with our notice URL under Developers, Webhooks, and copy its signing secret. ' +
        'While you roll the secret, enter the new and the old one, separated by a comma.',
      isSecret: true,
      isOptional: true,
      pattern: /^\s*whsec_\S+(\s*,\s*whsec_\S+)*\s*$/,
      rule: 'must start with whsec_',
    },
    {
      name: 'statement_descriptor',
      label: 'Statement descriptor',
      help: 'What customers read on their card statement after the prefix of your Stripe account, for example ORDERS. Prefix, an asterisk and a space and this text have at most 22 characters together.',
      isSecret: false,
      isOptional: true,
      pattern: /^(?=.*[A-Za-z])[A-Za-z0-9 .,&-]{1,20}$/,
      rule: 'must have at most 20 letters, digits, spaces and . , & - and at least one letter',
    },
    {
      name: 'api_url',
      label: 'API URL',
      help: 'For tests with a simulated Stripe.',
      isSecret: false,
      isOptional: true,
      isHidden: true,
    },
  ],
  origins,
  requestLifeMs: minuteMs,
  timeoutMs: 10_000,
  sendsNotices: true,
  evidence: evidenceLimits,
  open({ secret_key = '', signing_secret = '', statement_descriptor, api_url }, options) {
    const secrets = signing_secret.split(',').flatMap((secret) => secret.trim() || []);
    if (!secrets.every((secret) => signingSecret.test(secret))) {
      throw new ConfigurationProblem('signing_secret', 'must start with whsec_');
    }
    const url = allowedUrl('api_url', api_url ?? apiOrigin, origins, options);
    return stripeProcessor({
      url,
      filesUrl: api_url === undefined ? filesOrigin : url,
      secretKey: new Secret(secret_key),
      signingSecrets: new Secret(secrets),
      descriptor: statement_descriptor,
      timeoutMs: options.timeoutMs,
    });
  },
};
