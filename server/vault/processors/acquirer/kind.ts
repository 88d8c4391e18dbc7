import { Secret } from '../../../platform/secret.ts';
import type { ProcessorKind } from '../kind.ts';
import { ConfigurationProblem } from '../kind.ts';
import { acquirerProcessor } from './adapter.ts';

/** A processor that speaks the protocol of docs/acquirer.md. The operator decides which URLs an owner may enter. */
export const acquirerKind: ProcessorKind = {
  kind: 'acquirer',
  name: 'Acquirer protocol',
  fields: [
    {
      name: 'url',
      label: 'URL',
      help: 'The URL of the acquirer or of the bridge to your processor. Your operator offers the URLs.',
      isSecret: false,
    },
    { name: 'secret', label: 'Secret', help: 'The secret that the acquirer gave you.', isSecret: true },
    {
      name: 'statement_descriptor',
      label: 'Statement descriptor',
      help: 'What customers read on their card statement, if your processor takes it.',
      isSecret: false,
      isOptional: true,
      pattern: /^[A-Za-z0-9 .,'_?+*/&-]{1,22}$/,
      rule: "must have at most 22 letters, digits, spaces and . , ' _ ? + * / & -",
    },
  ],
  origins: [],
  requestLifeMs: 60_000,
  timeoutMs: 10_000,
  sendsNotices: true,
  open({ url = '', secret = '', statement_descriptor: descriptor }, { timeoutMs }) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      throw new ConfigurationProblem('url', 'must be an http or https URL');
    }
    return acquirerProcessor({ url, secret: new Secret(secret), timeoutMs, descriptor });
  },
};
