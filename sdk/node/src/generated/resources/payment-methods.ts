// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import { listPages, type PagePromise } from '../../paging.ts';
import { operations } from '../operations.ts';
import type { CardCapture, DeletedPaymentMethod, ListPaymentMethodsParams, PaymentMethod, PaymentMethodAttach, PaymentMethodDelete, PaymentMethodUpdate } from '../types/payment-methods.ts';

export class PaymentMethods {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Capture a card, server to server. */
  capture(body: CardCapture, options?: RequestOptions): Promise<PaymentMethod> {
    return this.#call(operations.captureCard, [], { body }, options);
  }

  /** Attach a card to a customer. */
  attach(customerId: string, body: PaymentMethodAttach, options?: RequestOptions): Promise<PaymentMethod> {
    return this.#call(operations.attachPaymentMethod, [customerId], { body }, options);
  }

  /** List the cards of a customer. */
  list(customerId: string, params: ListPaymentMethodsParams = {}, options?: RequestOptions): PagePromise<PaymentMethod> {
    return listPages(this.#call, operations.listPaymentMethods, [customerId], params, options);
  }

  /** Retrieve a card of a customer. */
  get(customerId: string, paymentMethodId: string, options?: RequestOptions): Promise<PaymentMethod> {
    return this.#call(operations.getPaymentMethod, [customerId, paymentMethodId], {}, options);
  }

  /** Make a card the default, or move subscriptions to it. */
  update(customerId: string, paymentMethodId: string, body: PaymentMethodUpdate, options?: RequestOptions): Promise<PaymentMethod> {
    return this.#call(operations.updatePaymentMethod, [customerId, paymentMethodId], { body }, options);
  }

  /** Delete a card of a customer. */
  delete(customerId: string, paymentMethodId: string, body: PaymentMethodDelete = {}, options?: RequestOptions): Promise<DeletedPaymentMethod> {
    return this.#call(operations.deletePaymentMethod, [customerId, paymentMethodId], { body }, options);
  }
}
