/** What the processor refuses of the account or its key, so that it has not seen the card. */
export interface AccountRefusal {
  /** A sentence of the connector, as in a decline. */
  readonly rejection?: string;
  readonly refusesCredentials?: boolean;
}

/** What a decline says of the account; nothing if it is about the card. */
export const accountRefusalIn = ({ rejection, refusesCredentials }: AccountRefusal): AccountRefusal => ({
  ...(rejection !== undefined && { rejection }),
  ...(refusesCredentials && { refusesCredentials }),
});
