// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import { operations } from '../operations.ts';
import type { CardToken, CardTokenCreate } from '../types/payment-methods.ts';

export class CardTokens {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Exchange a card for a token. */
  create(body: CardTokenCreate, options?: RequestOptions): Promise<CardToken> {
    return this.#call(operations.createCardToken, [], { body }, options);
  }
}
