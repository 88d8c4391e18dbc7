import { Resources } from './generated/resources.ts';
import {
  type Call,
  createCall,
  type Operation,
  type RequestInput,
  type RequestOptions,
  type SvcOptions,
} from './request.ts';
import { webhooks } from './webhooks.ts';

/**
 * The payments API with a secret key:
 * `const svc = new Svc('svc_test_sk_…', { baseUrl: 'https://pay.example.com' })`.
 */
export class Svc extends Resources {
  readonly #call: Call;
  /** Needs no key. The same as the exported `webhooks`. */
  readonly webhooks = webhooks;

  constructor(apiKey: string, options: SvcOptions) {
    if (typeof apiKey !== 'string' || apiKey === '') throw new TypeError('new Svc() requires an API key');
    if (typeof options?.baseUrl !== 'string') throw new TypeError('new Svc() requires the baseUrl of the service');
    if (!/^https?:\/\/[^/]/.test(options.baseUrl)) {
      throw new TypeError(`baseUrl must begin with https:// or http://, not ${JSON.stringify(options.baseUrl)}`);
    }
    if (/^svc_[a-z]+_pk_/.test(apiKey)) {
      throw new TypeError(
        'new Svc() requires a secret key (svc_…_sk_…), not a publishable key, which is for web pages',
      );
    }
    const call = createCall(apiKey, options);
    super(call);
    this.#call = call;
  }

  /**
   * Calls any path of the service, with the key, retries and errors of the other methods, for example
   * `svc.request('GET', '/v1/orders', { query: { limit: 1 } })`. Writes get an idempotency key.
   */
  request<Answer = unknown>(
    method: Operation['method'],
    path: `/${string}`,
    input: RequestInput = {},
    options: RequestOptions = {},
  ): Promise<Answer> {
    if (typeof path !== 'string' || !/^\/[^/\\]/.test(path)) {
      throw new TypeError('request() requires a path that begins with one slash, for example /v1/orders');
    }
    return this.#call<Answer>({ method, path, keyed: method !== 'GET' }, [], input, options);
  }
}
