/** The place of each operation in the client. The generation fails for an operation that is not listed. */

export const methodNames: Readonly<Record<string, string>> = {
  createCustomer: 'customers.create',
  listCustomers: 'customers.list',
  getCustomer: 'customers.get',
  updateCustomer: 'customers.update',
  deleteCustomer: 'customers.delete',
  getCustomerCredit: 'customers.credit.get',
  createCustomerCredit: 'customers.credit.create',

  createCardToken: 'cardTokens.create',

  captureCard: 'paymentMethods.capture',
  attachPaymentMethod: 'paymentMethods.attach',
  listPaymentMethods: 'paymentMethods.list',
  getPaymentMethod: 'paymentMethods.get',
  updatePaymentMethod: 'paymentMethods.update',
  deletePaymentMethod: 'paymentMethods.delete',

  createProduct: 'products.create',
  listProducts: 'products.list',
  getProduct: 'products.get',
  updateProduct: 'products.update',
  deleteProduct: 'products.delete',
  uploadProductImage: 'products.images.upload',
  deleteProductImage: 'products.images.delete',
  reorderProductImages: 'products.images.reorder',

  createOrder: 'orders.create',
  listOrders: 'orders.list',
  getOrder: 'orders.get',
  getOrderReceipt: 'orders.receipt',
  captureOrder: 'orders.capture',
  voidOrder: 'orders.void',
  refundOrder: 'orders.refund',
  retryOrder: 'orders.retry',

  listPlans: 'plans.list',
  getPlan: 'plans.get',

  createCoupon: 'coupons.create',
  listCoupons: 'coupons.list',
  validateCoupon: 'coupons.validate',
  getCoupon: 'coupons.get',
  updateCoupon: 'coupons.update',
  deleteCoupon: 'coupons.delete',
  archiveCoupon: 'coupons.archive',
  mintCouponCodes: 'coupons.codes.mint',
  listCouponCodes: 'coupons.codes.list',

  createSubscription: 'subscriptions.create',
  listSubscriptions: 'subscriptions.list',
  getSubscription: 'subscriptions.get',
  listUpcomingBills: 'subscriptions.upcoming',
  updateSubscription: 'subscriptions.update',
  cancelSubscription: 'subscriptions.cancel',
  changePlan: 'subscriptions.changePlan',
  previewPlanChange: 'subscriptions.previewPlanChange',
  undoPlanChange: 'subscriptions.undoPlanChange',
  addRenewalItem: 'subscriptions.addRenewalItem',
  removeRenewalItem: 'subscriptions.removeRenewalItem',
  pauseSubscription: 'subscriptions.pause',
  resumeSubscription: 'subscriptions.resume',

  createCheckoutSession: 'checkoutSessions.create',
  listCheckoutSessions: 'checkoutSessions.list',
  getCheckoutSession: 'checkoutSessions.get',
  expireCheckoutSession: 'checkoutSessions.expire',

  createPaymentLink: 'paymentLinks.create',
  listPaymentLinks: 'paymentLinks.list',
  getPaymentLink: 'paymentLinks.get',
  updatePaymentLink: 'paymentLinks.update',

  createCustomerSession: 'customerSessions.create',
  getCustomerSession: 'customerSessions.get',
  deleteCustomerSession: 'customerSessions.delete',
  deleteCustomerSessions: 'customerSessions.deleteAll',

  listInvoices: 'invoices.list',
  getInvoice: 'invoices.get',
  getInvoicePdf: 'invoices.pdf',
  getInvoiceXml: 'invoices.xml',
  getInvoiceMonth: 'invoices.month',
  createInvoiceCorrection: 'invoices.correct',

  listTransactions: 'transactions.list',
  getTransaction: 'transactions.get',

  getClock: 'sandbox.clock.get',
  advanceClock: 'sandbox.clock.advance',
  triggerEvent: 'sandbox.events.trigger',
  raiseChargeback: 'sandbox.orders.chargeback',
  resolveChargeback: 'sandbox.orders.resolveChargeback',

  listEvents: 'events.list',
  getEvent: 'events.get',
  readEventFeed: 'events.feed',

  listRequests: 'requests.list',
  getRequest: 'requests.get',

  createWebhookEndpoint: 'webhookEndpoints.create',
  listWebhookEndpoints: 'webhookEndpoints.list',
  getWebhookEndpoint: 'webhookEndpoints.get',
  updateWebhookEndpoint: 'webhookEndpoints.update',
  deleteWebhookEndpoint: 'webhookEndpoints.delete',
  rotateWebhookEndpointSecret: 'webhookEndpoints.rotateSecret',
  testWebhookEndpoint: 'webhookEndpoints.test',
  listWebhookEndpointEvents: 'webhookEndpoints.listEvents',
  listWebhookEndpointDeliveryLogs: 'webhookEndpoints.listDeliveryLogs',
  upgradeWebhookEndpointVersion: 'webhookEndpoints.upgradeVersion',
  downgradeWebhookEndpointVersion: 'webhookEndpoints.downgradeVersion',
  replayWebhookEndpointEvent: 'webhookEndpoints.replayEvent',

  listRoles: 'roles.list',

  createTeamMember: 'teamMembers.create',
  listTeamMembers: 'teamMembers.list',
};

/** Operations whose body has no required field, but must not be empty. */
export const bodiesNeverLeftOut: readonly string[] = ['advanceClock'];
