// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call, RequestOptions } from '../../request.ts';
import type { Chosen, FieldChoice } from '../../shown.ts';
import { listPages, type PagePromise } from '../../paging.ts';
import { operations } from '../operations.ts';
import type { CreatedWebhookEndpoint, DeletedWebhookEndpoint, ListWebhookEndpointDeliveryLogsParams, ListWebhookEndpointEventsParams, ListWebhookEndpointsParams, RotatedWebhookSecret, WebhookDelivery, WebhookDeliveryLog, WebhookEndpoint, WebhookEndpointCreate, WebhookEndpointTest, WebhookEndpointUpdate, WebhookReplay, WebhookSecretRotate, WebhookTestResult, WebhookVersionMove, WebhookVersionMoved } from '../types/webhook-endpoints.ts';

export class WebhookEndpoints {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Create a webhook endpoint. */
  create(body: WebhookEndpointCreate, options?: RequestOptions): Promise<CreatedWebhookEndpoint> {
    return this.#call(operations.createWebhookEndpoint, [], { body }, options);
  }

  /** List webhook endpoints. */
  list<const Field extends keyof WebhookEndpoint = keyof WebhookEndpoint>(params: ListWebhookEndpointsParams & FieldChoice<Field> = {}, options?: RequestOptions): PagePromise<Chosen<WebhookEndpoint, Field>> {
    return listPages(this.#call, operations.listWebhookEndpoints, [], params, options);
  }

  /** Retrieve a webhook endpoint. */
  get<const Field extends keyof WebhookEndpoint = keyof WebhookEndpoint>(webhookEndpointId: string, params: FieldChoice<Field> = {}, options?: RequestOptions): Promise<Chosen<WebhookEndpoint, Field>> {
    return this.#call(operations.getWebhookEndpoint, [webhookEndpointId], { query: params }, options);
  }

  /** Update a webhook endpoint. */
  update(webhookEndpointId: string, body: WebhookEndpointUpdate, options?: RequestOptions): Promise<WebhookEndpoint> {
    return this.#call(operations.updateWebhookEndpoint, [webhookEndpointId], { body }, options);
  }

  /** Delete a webhook endpoint. */
  delete(webhookEndpointId: string, options?: RequestOptions): Promise<DeletedWebhookEndpoint> {
    return this.#call(operations.deleteWebhookEndpoint, [webhookEndpointId], {}, options);
  }

  /** Rotate the signing secret. */
  rotateSecret(webhookEndpointId: string, body: WebhookSecretRotate = {}, options?: RequestOptions): Promise<RotatedWebhookSecret> {
    return this.#call(operations.rotateWebhookEndpointSecret, [webhookEndpointId], { body }, options);
  }

  /** Send a test event. */
  test(webhookEndpointId: string, body: WebhookEndpointTest = {}, options?: RequestOptions): Promise<WebhookTestResult> {
    return this.#call(operations.testWebhookEndpoint, [webhookEndpointId], { body }, options);
  }

  /** List the events of an endpoint. */
  listEvents(webhookEndpointId: string, params: ListWebhookEndpointEventsParams = {}, options?: RequestOptions): PagePromise<WebhookDelivery> {
    return listPages(this.#call, operations.listWebhookEndpointEvents, [webhookEndpointId], params, options);
  }

  /** List the attempts to deliver to an endpoint. */
  listDeliveryLogs(webhookEndpointId: string, params: ListWebhookEndpointDeliveryLogsParams = {}, options?: RequestOptions): PagePromise<WebhookDeliveryLog> {
    return listPages(this.#call, operations.listWebhookEndpointDeliveryLogs, [webhookEndpointId], params, options);
  }

  /** Move an endpoint to a later version. */
  upgradeVersion(webhookEndpointId: string, body: WebhookVersionMove, options?: RequestOptions): Promise<WebhookVersionMoved> {
    return this.#call(operations.upgradeWebhookEndpointVersion, [webhookEndpointId], { body }, options);
  }

  /** Move an endpoint to an earlier version. */
  downgradeVersion(webhookEndpointId: string, body: WebhookVersionMove, options?: RequestOptions): Promise<WebhookVersionMoved> {
    return this.#call(operations.downgradeWebhookEndpointVersion, [webhookEndpointId], { body }, options);
  }

  /** Deliver an event again. */
  replayEvent(webhookEndpointId: string, eventId: string, body: WebhookReplay = {}, options?: RequestOptions): Promise<WebhookDelivery> {
    return this.#call(operations.replayWebhookEndpointEvent, [webhookEndpointId, eventId], { body }, options);
  }
}
