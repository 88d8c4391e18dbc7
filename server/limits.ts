/** Every bound of the service, in one place. The API reference and the docs are made from these. */
export const limits = {
  bodyBytes: 1024 * 1024,
  /** Where no secret is needed to send one: sign-in, sign-up, publishable keys. */
  publicBodyBytes: 16 * 1024,
  imageBytes: 10 * 1024 * 1024,
  multipartOverheadBytes: 64 * 1024,
  imagesPerProduct: 10,
  imageUrlTtlSeconds: 10 * 60,

  jsonDepth: 32,
  jsonValues: 20_000,
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

  cardTokenSeconds: 15 * 60,
  /** How long after its token a card that nothing names stays in the vault. */
  unreferencedCardSeconds: 5 * 60,
  /** From one address with a publishable key; of one customer, and of one card, with a secret key. */
  refusedCards: { count: 20, windowSeconds: 10 * 60 },
  /** With secret keys: more than typing errors explain. */
  refusedCardsOfCompany: { count: 1_000, windowSeconds: 10 * 60 },

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
  redemptionsMax: 1_000_000_000,
  couponScopeIds: 1_000,
  couponPrefixLength: 20,
  couponCodesPerCall: 1_000,
  couponCodeLength: 10,
  couponCodeLengthMin: 6,
  couponCodeLengthMax: 32,
  dunningRetries: 10,
  dunningDaysMax: 60,
  /** How far one call may move the clock of a sandbox, and how much of what happened it answers with. */
  clockAdvanceYears: 10,
  clockHappenings: 10_000,
  inventoryMax: 2_147_483_647,
  returnWindowDaysMax: 365,

  idempotencyKeyLength: 255,
  idempotencyKeyHours: 24,

  webhookEndpoints: 50,
  webhookTimeoutSeconds: 30,
  webhookAnswerBytes: 4 * 1024,
  webhookFailingDays: 5,
  signingSecretBytes: 32,
  /** How many of them may sign beside the present one, when it is rotated again and again. */
  previousSecrets: 10,
  urlLength: 2_048,
  eventRetentionDays: 30,
  requestRetentionDays: 7,
  requestBodyLength: 8 * 1024,

  invitationDays: 7,
  /** Of one company: a mail to a stranger is easily a nuisance. */
  mailsPerDay: 500,

  passwordLengthMin: 10,
  passwordLengthMax: 200,
  passwordResetMinutes: 60,
  /** How long no second mail goes out. */
  passwordResetPauseMinutes: 2,
  failedSignIns: 10,
  lockMinutes: 15,
  /** Refused passwords and codes from one address. */
  signInsPerAddress: { count: 50, windowSeconds: 10 * 60 },
  /** Accounts that are opened, and passwords that are asked for by mail, from one address. */
  strangersPerAddress: { count: 100, windowSeconds: 60 * 60 },
  /** How long a browser is known in which a person signed in. */
  knownBrowserDays: 365,
  sessionIdleHours: 12,
  sessionDays: 14,
  stepUpMinutes: 15,
  /** Of one company, those that are neither revoked nor expired. */
  apiKeys: 1_000,
  keyAddresses: 100,
  customRoles: 50,
  statisticsDays: 366,
  searchResults: 20,

  /** How many faults of one request are described, and how many fields of it that do not exist. */
  /** Of one company: fields that hold what looks like a card number. */
  cardWarnings: 100,

  fieldErrors: 100,
  unknownFields: 10,
} as const;
