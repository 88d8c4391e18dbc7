// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import type { ExpandChoice, FieldChoice, Shown } from '../../shown.ts';
import { listPages, type PagePromise } from '../../paging.ts';
import { operations } from '../operations.ts';
import type { ListTransactionsParams, Transaction, TransactionExpansions } from '../types/transactions.ts';

export class Transactions {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** List transactions. */
  list<const Expand extends keyof TransactionExpansions = never, const Field extends keyof Transaction = keyof Transaction>(params: ListTransactionsParams & ExpandChoice<Expand> & FieldChoice<Field> = {}, options?: RequestOptions): PagePromise<Shown<Transaction, TransactionExpansions, Expand, Field>> {
    return listPages(this.#call, operations.listTransactions, [], params, options);
  }

  /** Retrieve a transaction. */
  get<const Expand extends keyof TransactionExpansions = never, const Field extends keyof Transaction = keyof Transaction>(transactionId: string, params: ExpandChoice<Expand> & FieldChoice<Field> = {}, options?: RequestOptions): Promise<Shown<Transaction, TransactionExpansions, Expand, Field>> {
    return this.#call(operations.getTransaction, [transactionId], { query: params }, options);
  }
}
