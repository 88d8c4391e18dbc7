import { Resources } from './generated/resources.ts';
import { createCall, type SvcOptions } from './request.ts';
import { webhooks } from './webhooks.ts';

/**
 * The payments API with a secret key:
 * `const svc = new Svc('svc_test_sk_…', { baseUrl: 'https://pay.example.com' })`.
 */
export class Svc extends Resources {
  /** Needs no key. The same as the exported `webhooks`. */
  readonly webhooks = webhooks;

  constructor(apiKey: string, options: SvcOptions) {
    if (typeof apiKey !== 'string' || apiKey === '') throw new TypeError('new Svc() requires an API key');
    if (typeof options?.baseUrl !== 'string') throw new TypeError('new Svc() requires the baseUrl of the service');
    if (!/^https?:\/\/[^/]/.test(options.baseUrl)) {
      throw new TypeError(`baseUrl must begin with https:// or http://, not ${JSON.stringify(options.baseUrl)}`);
    }
    super(createCall(apiKey, options));
  }
}
