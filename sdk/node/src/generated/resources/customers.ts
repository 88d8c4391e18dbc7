// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import type { ExpandChoice, FieldChoice, Shown } from '../../shown.ts';
import { listPages, type PagePromise } from '../../paging.ts';
import { operations } from '../operations.ts';
import type { Customer, CustomerCreate, CustomerExpansions, CustomerUpdate, DeletedCustomer, ListCustomersParams } from '../types/customers.ts';

export class Customers {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Create a customer. */
  create(body: CustomerCreate, options?: RequestOptions): Promise<Customer> {
    return this.#call(operations.createCustomer, [], { body }, options);
  }

  /** List customers. */
  list<const Expand extends keyof CustomerExpansions = never, const Field extends keyof Customer = keyof Customer>(params: ListCustomersParams & ExpandChoice<Expand> & FieldChoice<Field> = {}, options?: RequestOptions): PagePromise<Shown<Customer, CustomerExpansions, Expand, Field>> {
    return listPages(this.#call, operations.listCustomers, [], params, options);
  }

  /** Retrieve a customer. */
  get<const Expand extends keyof CustomerExpansions = never, const Field extends keyof Customer = keyof Customer>(customerId: string, params: ExpandChoice<Expand> & FieldChoice<Field> = {}, options?: RequestOptions): Promise<Shown<Customer, CustomerExpansions, Expand, Field>> {
    return this.#call(operations.getCustomer, [customerId], { query: params }, options);
  }

  /** Update a customer. */
  update(customerId: string, body: CustomerUpdate, options?: RequestOptions): Promise<Customer> {
    return this.#call(operations.updateCustomer, [customerId], { body }, options);
  }

  /** Delete a customer. */
  delete(customerId: string, options?: RequestOptions): Promise<DeletedCustomer> {
    return this.#call(operations.deleteCustomer, [customerId], {}, options);
  }
}
