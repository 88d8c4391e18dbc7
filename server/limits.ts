/** Every limit of the service. The API reference and the docs use these values. */
export const limits = {
  bodyBytes: 1024 * 1024,
  /** For requests without a secret: sign-in, sign-up, publishable keys. */
  publicBodyBytes: 16 * 1024,
  /**
   * What the process holds of callers that are not known yet: bytes of their requests, all together and of one IP
   * address, connections of one address, and how long headers or a body may take to arrive.
   */
  strangers: {
    bytes: 8 * 1024 * 1024,
    bytesOfAddress: 4 * 1024 * 1024,
    connectionsOfAddress: 1_000,
    seconds: 6,
  },
  imageBytes: 10 * 1024 * 1024,
  multipartOverheadBytes: 64 * 1024,
  imagesPerProduct: 10,
  imageUrlTtlSeconds: 10 * 60,

  jsonDepth: 32,
  jsonValues: 10_000,
  textLength: 255,
  emailLength: 254,
  descriptionLength: 5_000,
  phoneLength: 32,
  searchLength: 255,

  metadataKeys: 50,
  metadataKeyLength: 40,
  metadataDepth: 5,
  metadataBytes: 16 * 1024,
  tags: 20,
  tagLength: 40,

  /** Cards that a customer can have, without those that a checkout page attached and does not show. */
  paymentMethods: 500,
  cardTokenSeconds: 15 * 60,
  /** How long an unused card stays in the vault after its token expired. */
  unreferencedCardSeconds: 5 * 60,
  /** Per IP address with a publishable key; per customer and per card with a secret key. */
  refusedCards: { count: 20, windowSeconds: 10 * 60 },
  /** With secret keys: more than typing errors can explain. */
  refusedCardsOfCompany: { count: 1_000, windowSeconds: 10 * 60 },
  /** After how many declines a card is not sent, unless the operator chooses otherwise. */
  declines: { visa: 15, mastercardDaily: 8, mastercardOfAmount: 30 },

  pageSize: 10,
  pageSizeMax: 100,

  amountCentsMax: 99_999_999,
  orderTotalCentsMax: 1_000_000_000_000,
  orderItems: 100,
  quantityMax: 9_999,
  intervalMonthsMax: 60,
  intervalDaysMax: 365,
  billingCyclesMax: 10_000,
  upcomingMax: 60,
  startDateYears: 10,
  /** How long customers can pause a subscription. */
  pauseDaysMax: 366,
  redemptionsMax: 1_000_000_000,
  couponScopeIds: 1_000,
  couponPrefixLength: 20,
  couponCodesPerCall: 1_000,
  couponCodes: 100_000,
  couponCodeLength: 10,
  couponCodeLengthMin: 6,
  couponCodeLengthMax: 32,
  checkoutItems: 20,
  checkoutSeconds: 24 * 60 * 60,
  checkoutSecondsMin: 5 * 60,
  checkoutSecondsMax: 7 * 24 * 60 * 60,
  /** Payments of one checkout session that were declined. */
  checkoutAttempts: 20,
  /** Declined payments on the pages of one company: per IP address. */
  declinedPayments: { count: 10, windowSeconds: 10 * 60 },
  /** Per company: beyond it, pages ask for a proof of work before each payment. */
  declinedPaymentsOfCompany: { count: 60, windowSeconds: 10 * 60 },
  /** Payments of one declined renewal that its customer tries on the customer page. */
  customerTries: 10,
  /** A link to the customer page. */
  customerSessionSeconds: 60 * 60,
  /** Requests for such a link by email: per IP address and company, and mails per customer. */
  linkMailsPerAddress: { count: 10, windowSeconds: 10 * 60 },
  linkMailsPerCustomer: { count: 3, windowSeconds: 15 * 60 },
  /** Per company. Strangers can ask for these mails, so they count against no other limit of mails. */
  linkMailsPerCompany: { count: 5_000, windowSeconds: 24 * 60 * 60 },
  /**
   * Cancellations and withdrawals without signing in: per IP address and company, per email address, and per company. The limit of a
   * day keeps one network from using up that of the company.
   */
  declarationsPerAddress: { count: 10, windowSeconds: 10 * 60 },
  declarationsPerAddressAndDay: { count: 50, windowSeconds: 24 * 60 * 60 },
  declarationsPerEmail: { count: 5, windowSeconds: 60 * 60 },
  declarationsPerCompany: { count: 2_000, windowSeconds: 24 * 60 * 60 },
  declaredLength: 500,
  shownDeclarations: 100,
  /** What a stranger types on a page and emails may repeat. */
  pageNameLength: 80,
  /** Requests of pages for customers, per IP address and per link of one customer, by their kind. */
  pageRequests: {
    read: { count: 100, windowSeconds: 10 },
    write: { count: 50, windowSeconds: 10 },
    coupon_validation: { count: 60, windowSeconds: 60 },
    capture: { count: 30, windowSeconds: 60 },
  },
  /** What one processor can about answer. All visitors of a company together get no more. */
  pageRequestsPerProcessor: { count: 5_000, windowSeconds: 10 },
  /** Notices of processors: per IP address, and per connection. A processor sends what is rejected again. */
  noticesOfAddress: { count: 5_000, windowSeconds: 10 },
  noticesOfConnection: { count: 2_000, windowSeconds: 10 },
  noticeBytes: 256 * 1024,
  /** How long a person has to approve what an agent wants to do, and the agent to do it. */
  agentApprovalMinutes: 5,
  agentApprovalsShown: 50,
  agentApprovalDays: 90,
  /** Orders that one bulk refund can contain. */
  bulkRefundOrders: 500,
  /** Groups of plans of a company, and plans of one. */
  planGroups: 50,
  plansOfGroup: 20,
  /** Subscriptions that can be chosen for a price change, and what is shown of one; a price change of a whole plan has no limit. */
  priceChangeChosen: 500,
  priceChangeExceptions: 100,
  priceChangesShown: 20,
  /** Exports that a company and one of its members can have at once, and rows of one. They are deleted after a day. */
  exports: 20,
  exportsOfMember: 5,
  exportRows: 1_000_000,
  /** Active payment links of a company. */
  paymentLinks: 1_000,
  slugLength: 40,
  /** Names in the addresses of payment links that a company can have, with earlier ones, which keep leading to it. */
  companyNames: 5,
  /** Of the visits of a payment link, these are counted. */
  countedVisits: 10_000,
  evidenceTextLength: 20_000,
  /** A file of 5 MB in base64, and the rest of the request. */
  evidenceBodyBytes: 7 * 1024 * 1024,
  /** Processors that a company is or was connected to. */
  connections: 20,
  processorFieldLength: 1_000,
  /** Products, plans and coupons that one call copies from the sandbox, of each. */
  copiedObjects: 5_000,
  dunningRetries: 10,
  dunningDaysMax: 60,
  /** How far one call can advance the sandbox clock, and how many entries its response can list. */
  clockAdvanceYears: 10,
  clockHappenings: 10_000,
  timelineEntries: 500,
  inventoryMax: 2_147_483_647,
  returnWindowDaysMax: 365,

  idempotencyKeyLength: 255,
  idempotencyKeyHours: 24,

  webhookEndpoints: 50,
  webhookTimeoutSeconds: 30,
  webhookAnswerBytes: 4 * 1024,
  webhookFailingDays: 5,
  signingSecretBytes: 32,
  /** How many old secrets can be valid besides the current one, after several rotations. */
  previousSecrets: 10,
  urlLength: 2_048,
  eventRetentionDays: 30,
  requestRetentionDays: 7,
  noticeRetentionDays: 180,
  tableSizeDays: 90,
  requestBodyLength: 8 * 1024,

  displayNameLength: 100,
  invoicePrefixLength: 20,
  /** Documents in the ZIP file of a month. */
  invoicesInArchive: 10_000,
  /** Rates of included tax of a company. */
  taxRates: 500,
  /** Rules of a company for business buyers abroad, and the countries of one. */
  businessRules: 20,
  businessRuleCountries: 250,
  taxNameLength: 40,
  /** Digits of a number. */
  invoicePaddingMax: 12,
  taxIdLength: 64,
  termsVersionLength: 40,
  thankYouLength: 500,
  supportLineLength: 200,
  termsTextLength: 500,
  agreementLength: 2_000,
  /** The name of the sender of emails to customers. */
  fromNameLength: 70,
  upcomingNoticeDaysMax: 30,
  /** A link to a receipt, as the API returns it and in an email. */
  receiptLinkHours: 24,
  receiptLinkInEmailDays: 90,
  unsubscribeLinkDays: 365,
  /** How long a customer can confirm a payment that the bank asked about. */
  confirmationDays: 30,
  /** A link to the page of a customer in an email, for example about a failed payment. */
  customerPageLinkInEmailDays: 7,
  /** Receipts that one company can have rendered, so that opened links cannot use up the processor. */
  receiptRenders: { count: 120, windowSeconds: 60 },
  /** Per company: receipts and notices to customers. Invitations have their own limit. */
  customerEmailsPerDay: { live: 100_000, rehearsal: 1_000, sandbox: 1_000 },

  invitationDays: 7,
  /** Per company, so that invitations cannot be used to send spam. */
  mailsPerDay: 500,

  passwordLengthMin: 10,
  passwordLengthMax: 200,
  passwordResetMinutes: 60,
  /** Time before a second reset email can be sent. */
  passwordResetPauseMinutes: 2,
  failedSignIns: 10,
  lockMinutes: 15,
  /** Wrong passwords and codes per IP address. */
  signInsPerAddress: { count: 50, windowSeconds: 10 * 60 },
  /** Sign-ups and password resets per IP address. */
  strangersPerAddress: { count: 100, windowSeconds: 60 * 60 },
  /** How long a browser is remembered after a sign-in. */
  knownBrowserDays: 365,
  sessionIdleHours: 12,
  oneTimeSignInMinutes: 60,
  sessionDays: 14,
  stepUpMinutes: 15,
  /** Active keys per company: neither revoked nor expired. */
  apiKeys: 1_000,
  /** How long a key of the API reference works. */
  trialKeySeconds: 60 * 60,
  /** Per member. A new one ends the oldest. */
  trialKeys: 5,
  keyAddresses: 100,
  customRoles: 50,
  statisticsDays: 366,
  timeZoneLength: 64,
  /** On one customer or order. */
  /** Of a member in a company. */
  savedViews: 100,
  savedViewNameLength: 60,
  savedViewFilters: 20,
  notes: 200,
  noteLength: 5_000,
  searchResults: 20,

  /** What a request counts against a rate limit in addition to 1: nothing up to `free`, then 1 per `each`. */
  requestCosts: {
    bodyBytes: { free: 64 * 1024, each: 16 * 1024 },
    bodyValues: { free: 1_000, each: 500 },
    /** Uploads, and bodies that are read only to be discarded. */
    streamedBytes: { free: 256 * 1024, each: 256 * 1024 },
    answerBytes: { free: 256 * 1024, each: 64 * 1024 },
    rows: { free: 25, each: 25 },
    /** Rows that a request writes. Before it runs, the elements of the arrays in its body stand for them. */
    rowsWritten: { free: 25, each: 10 },
    /** Rows that a list reads for a filter without an index. */
    scannedRows: { free: 1_000, each: 250 },
  },
  searchCost: 9,

  /** Per company: fields that contain what looks like a card number. */
  cardWarnings: 100,

  /** How many invalid and how many unknown fields of one request are listed. */
  fieldErrors: 100,
  unknownFields: 10,
} as const;
