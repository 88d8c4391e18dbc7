// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import { listPages, type PagePromise } from '../../paging.ts';
import { operations } from '../operations.ts';
import type { ListRequestsParams, LoggedRequest, LoggedRequestDetails } from '../types/requests.ts';

export class Requests {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** List API requests. */
  list(params: ListRequestsParams = {}, options?: RequestOptions): PagePromise<LoggedRequest> {
    return listPages(this.#call, operations.listRequests, [], params, options);
  }

  /** Retrieve an API request. */
  get(requestId: string, options?: RequestOptions): Promise<LoggedRequestDetails> {
    return this.#call(operations.getRequest, [requestId], {}, options);
  }
}
