import { CardNumber } from '../../card-number.ts';
import type { Billing, ChargeRequest, Presence, ProcessorCard } from '../processor.ts';

/** The fields that describe a charge; docs/acquirer.md defines them. */

function addressOf({ name, phone, line1, line2, city, state, postalCode, country }: Omit<Billing, 'email'>): object {
  return { name, phone, line1, line2, city, state, postal_code: postalCode, country };
}

export const cardOf = ({ number, expMonth, expYear }: ProcessorCard) => ({
  number: CardNumber.open(number),
  exp_month: expMonth,
  exp_year: expYear,
});

/** Where the bank can lead the customer, and to what browser. */
function presenceOf({ returnUrl, userAgent, acceptHeader, browser }: Presence): object {
  return {
    return_url: returnUrl,
    browser: {
      user_agent: userAgent,
      accept_header: acceptHeader,
      language: browser?.language ?? null,
      color_depth: browser?.colorDepth ?? null,
      screen_height: browser?.screenHeight ?? null,
      screen_width: browser?.screenWidth ?? null,
      time_zone_offset_minutes: browser?.timeZoneOffsetMinutes ?? null,
    },
  };
}

function externalOf({ cavv, eci, directoryServerId, version }: NonNullable<ChargeRequest['authentication']>): object {
  return { external_authentication: { cavv, eci, directory_server_id: directoryServerId, version } };
}

/** What a bridge may pass on to its processor, and may ignore. */
export function describe(
  { credential, billing, shipping, customerIp, cvc, presence, authentication }: Partial<ChargeRequest>,
  descriptor: string | undefined,
): object {
  const code = cvc?.reveal();
  return {
    ...(code !== undefined && { security_code: code }),
    ...(credential && {
      initiator: credential.initiator,
      sequence: credential.sequence,
      network_transaction_id: credential.networkTransactionId,
    }),
    ...(billing && { billing: { ...addressOf(billing), email: billing.email } }),
    ...(shipping && { shipping: addressOf(shipping) }),
    ...(customerIp && { customer_ip: customerIp }),
    ...(descriptor && { statement_descriptor: descriptor }),
    ...(presence && presenceOf(presence)),
    ...(authentication && externalOf(authentication)),
  };
}
