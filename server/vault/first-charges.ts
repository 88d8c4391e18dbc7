import type { Connected } from './processors/connections.ts';
import type { CredentialUse } from './processors/processor.ts';
import { ofNetwork } from './queries.ts';

/** What later charges of a card say about its first one. */

/** The ids of the first charge or verification of a card. */
export interface KnownIds {
  /** At the connection that is used now. */
  readonly own?: string | undefined;
  /** At any connection whose processor reports the id of the card network. */
  readonly ofNetwork?: string | undefined;
  /** Whether the connection that is used now is one of these. */
  readonly isOfNetwork?: boolean;
}

export const knownIds = ({ processor, connectionId }: Connected, ids: Readonly<Record<string, string>>): KnownIds => ({
  own: ids[connectionId ?? ''],
  ofNetwork: ids[ofNetwork],
  isOfNetwork: processor.reportsOwnIds !== true,
});

/** A card that was charged or verified here before is not used for the first time. */
export function useOf(credential: Omit<CredentialUse, 'networkTransactionId'>, known: KnownIds): CredentialUse {
  const isLater = credential.sequence === 'first' && known.own !== undefined;
  const networkTransactionId = known.own ?? (known.isOfNetwork ? known.ofNetwork : undefined) ?? null;
  return { ...credential, networkTransactionId, ...(isLater && { sequence: 'unscheduled' }) };
}

/** The id to keep after an approved charge; undefined if it is known. */
export function firstToKeep(
  { own, ofNetwork: known, isOfNetwork }: KnownIds,
  { networkTransactionId }: { readonly networkTransactionId?: string },
): string | undefined {
  const isKnown = own !== undefined && (known !== undefined || isOfNetwork !== true);
  return isKnown ? undefined : (own ?? networkTransactionId);
}
