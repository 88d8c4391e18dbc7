// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import type { ExpandChoice, FieldChoice, Shown } from '../../shown.ts';
import { listPages, type PagePromise } from '../../paging.ts';
import { operations } from '../operations.ts';
import type { ListOrdersParams, Order, OrderCreate, OrderExpansions, OrderRefund } from '../types/orders.ts';

export class Orders {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Create an order and charge it. */
  create(body: OrderCreate, options?: RequestOptions): Promise<Order> {
    return this.#call(operations.createOrder, [], { body }, options);
  }

  /** List orders. */
  list<const Expand extends keyof OrderExpansions = never, const Field extends keyof Order = keyof Order>(params: ListOrdersParams & ExpandChoice<Expand> & FieldChoice<Field> = {}, options?: RequestOptions): PagePromise<Shown<Order, OrderExpansions, Expand, Field>> {
    return listPages(this.#call, operations.listOrders, [], params, options);
  }

  /** Retrieve an order. */
  get<const Expand extends keyof OrderExpansions = never, const Field extends keyof Order = keyof Order>(orderId: string, params: ExpandChoice<Expand> & FieldChoice<Field> = {}, options?: RequestOptions): Promise<Shown<Order, OrderExpansions, Expand, Field>> {
    return this.#call(operations.getOrder, [orderId], { query: params }, options);
  }

  /** Refund an order. */
  refund(orderId: string, body: OrderRefund = {}, options?: RequestOptions): Promise<Order> {
    return this.#call(operations.refundOrder, [orderId], { body }, options);
  }

  /** Retry a failed charge or refund. */
  retry(orderId: string, options?: RequestOptions): Promise<Order> {
    return this.#call(operations.retryOrder, [orderId], {}, options);
  }
}
