// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

export type * from './coupons.ts';
export type * from './customers.ts';
export type * from './events.ts';
export type * from './orders.ts';
export type * from './payment-methods.ts';
export type * from './plans.ts';
export type * from './products.ts';
export type * from './requests.ts';
export type * from './sandbox.ts';
export type * from './subscriptions.ts';
export type * from './team.ts';
export type * from './transactions.ts';
export type * from './webhook-endpoints.ts';
