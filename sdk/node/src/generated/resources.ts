// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { Call } from '../request.ts';
import { CardTokens } from './resources/card-tokens.ts';
import { Coupons } from './resources/coupons.ts';
import { Customers } from './resources/customers.ts';
import { Events } from './resources/events.ts';
import { Orders } from './resources/orders.ts';
import { PaymentMethods } from './resources/payment-methods.ts';
import { Plans } from './resources/plans.ts';
import { Products } from './resources/products.ts';
import { Requests } from './resources/requests.ts';
import { Roles } from './resources/roles.ts';
import { Sandbox } from './resources/sandbox.ts';
import { Subscriptions } from './resources/subscriptions.ts';
import { TeamMembers } from './resources/team-members.ts';
import { Transactions } from './resources/transactions.ts';
import { WebhookEndpoints } from './resources/webhook-endpoints.ts';

export class Resources {
  readonly customers: Customers;
  readonly cardTokens: CardTokens;
  readonly paymentMethods: PaymentMethods;
  readonly products: Products;
  readonly orders: Orders;
  readonly plans: Plans;
  readonly coupons: Coupons;
  readonly subscriptions: Subscriptions;
  readonly transactions: Transactions;
  readonly sandbox: Sandbox;
  readonly events: Events;
  readonly requests: Requests;
  readonly webhookEndpoints: WebhookEndpoints;
  readonly roles: Roles;
  readonly teamMembers: TeamMembers;

  constructor(call: Call) {
    this.customers = new Customers(call);
    this.cardTokens = new CardTokens(call);
    this.paymentMethods = new PaymentMethods(call);
    this.products = new Products(call);
    this.orders = new Orders(call);
    this.plans = new Plans(call);
    this.coupons = new Coupons(call);
    this.subscriptions = new Subscriptions(call);
    this.transactions = new Transactions(call);
    this.sandbox = new Sandbox(call);
    this.events = new Events(call);
    this.requests = new Requests(call);
    this.webhookEndpoints = new WebhookEndpoints(call);
    this.roles = new Roles(call);
    this.teamMembers = new TeamMembers(call);
  }
}
