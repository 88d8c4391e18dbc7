import { Secret } from '../../server/platform/secret.ts';
import type { Configuration, KindName } from '../../server/vault/processors/kind.ts';
import { operationFaults } from '../../simulators/faults.ts';

/** How each kind of processor is connected in a run of chaos, and which faults it produces. */

export const timing = { timeoutMs: 1_000, requestLifeMs: 4_000, settleAfterMs: 500 };

export interface ChaosKind {
  readonly secret: string;
  readonly timeoutMs: number;
  /** A request that arrives late is executed within this time, or not at all. */
  readonly requestLifeMs: number;
  configuration(url: string): Configuration;
  /** A test card whose bank asks the customer; undefined if no bank can ask there. */
  readonly askingCard?: string;
  /** Each share of faults adds up to the rate for its requests. */
  faults(rate: number): Record<string, number>;
  /** The part of `POST /control` that says whether the credentials are refused. */
  revoked(isRevoked: boolean): object;
  /** The part of `POST /control` that says where notices go; undefined if the processor sends none. */
  readonly noticesTo?: (url: string) => object;
  /** Settlements come only with notices, which wait longer than a look-up if a process dies with them. */
  readonly drainMaxMs: number;
}

/** Distributes a share among faults. */
function shared(rate: number, faults: readonly string[]): Record<string, number> {
  return Object.fromEntries(faults.map((fault) => [fault, rate / faults.length]));
}

const declines = (rate: number, ...codes: readonly string[]): Record<string, number> =>
  shared(
    rate,
    codes.map((code) => `decline:${code}`),
  );
const lookups = ['lookup_timeout', 'lookup_error'];
const notices = ['notice_twice', 'notice_late', 'notice_forged', 'notice_lost'];

const signingSecret = 'whsec_ofTheSimulatedStripe';
const signingKey = 'SigningKeyOfTheSimulatedNmi';
export const adyenAccount = {
  hmacKey: new Secret('44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056'),
  merchantAccount: 'SvcECOM',
};
const webhook = { username: 'svc', password: 'the password of the webhook' };

const revoked = (isRevoked: boolean): object => ({ revoked: isRevoked });

export const chaosKinds: Readonly<Record<KindName, ChaosKind>> = {
  acquirer: {
    secret: 'secret of the acquirer',
    askingCard: '4000002760003184',
    timeoutMs: timing.timeoutMs,
    requestLifeMs: timing.requestLifeMs,
    configuration: (url) => ({ url, secret: chaosKinds.acquirer.secret }),
    revoked,
    faults: (rate) => ({
      ...shared(rate, operationFaults),
      ...declines(rate, '05', '51', '54', '41', '62', '91'),
      reject_refund: rate,
      ...shared(rate, lookups),
    }),
    drainMaxMs: 60_000,
  },
  stripe: {
    secret: 'sk_test_51NotARealKey00000000',
    askingCard: '4000002760003184',
    timeoutMs: timing.timeoutMs,
    requestLifeMs: timing.requestLifeMs,
    configuration: (url) => ({
      secret_key: chaosKinds.stripe.secret,
      signing_secret: signingSecret,
      api_url: url,
    }),
    revoked,
    faults: (rate) => ({
      ...shared(rate, [...operationFaults, 'key_in_use', 'rate_limit', 'saved_error', 'processing']),
      ...declines(rate, 'generic_decline', 'insufficient_funds', 'lost_card', 'expired_card'),
      ...shared(rate, ['prepare_timeout', 'prepare_error', 'prepare_reset']),
      cancel_error: rate,
      reject_refund: rate,
      ...shared(rate, lookups),
      ...shared(2 * rate, notices),
    }),
    noticesTo: (url) => ({ webhook: { url, secret: signingSecret } }),
    drainMaxMs: 60_000,
  },
  nmi: {
    secret: 'FakeSecurityKey'.padEnd(32, '8'),
    timeoutMs: timing.timeoutMs,
    // NMI executes every request that arrives. In the last two timeouts of its life a request is not sent.
    requestLifeMs: 2 * timing.timeoutMs,
    configuration: (url) => ({
      security_key: chaosKinds.nmi.secret,
      signing_key: signingKey,
      api_url: url,
    }),
    revoked: (isRevoked) => ({ is_revoked: isRevoked }),
    faults: (rate) => ({
      ...shared(rate, [
        ...operationFaults,
        ...['html_after', 'empty_after', 'cut_after', 'other_after', 'rate_limited_before', 'code_301_before'],
      ]),
      ...declines(rate, '200', '202', '223', '251', '300', '400'),
      reject_refund: rate,
      ...shared(rate, [...lookups, 'lookup_html', 'lookup_cut', 'lookup_other', 'lookup_rate_limited']),
      ...shared(2 * rate, notices),
    }),
    noticesTo: (url) => ({ webhook: { url, signing_key: signingKey } }),
    drainMaxMs: 60_000,
  },
  adyen: {
    secret: `AQE${'x'.repeat(60)}`,
    askingCard: '4212345678901237',
    timeoutMs: timing.timeoutMs,
    requestLifeMs: 2 * timing.timeoutMs,
    configuration: (url) => ({
      api_key: chaosKinds.adyen.secret,
      merchant_account: adyenAccount.merchantAccount,
      hmac_key: adyenAccount.hmacKey.reveal(),
      webhook_username: webhook.username,
      webhook_password: webhook.password,
      api_url: `${url}/checkout/v72`,
    }),
    revoked,
    faults: (rate) => ({
      ...shared(rate, [
        ...operationFaults,
        ...['saved_error', 'transient_error', 'rate_limit', 'slow', 'html', 'empty', 'cut'],
      ]),
      ...declines(rate, '2', '5', '6', '20'),
      ...shared(rate / 2, ['authentication', 'partial', 'pending']),
      ...shared(rate / 2, ['capture_refused', 'capture_failed']),
      ...shared(rate, ['reject_refund', 'refund_refused']),
      ...shared(2 * rate, notices),
    }),
    noticesTo: (url) => ({
      notice_url: url,
      notice_username: webhook.username,
      notice_password: webhook.password,
    }),
    // A notice that five kills have met waits five minutes for its sixth try.
    drainMaxMs: 360_000,
  },
};
