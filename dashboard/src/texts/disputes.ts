import type { Dispute } from '../types.ts';

type ByStatus = Readonly<Record<Dispute['status'], string>>;

const meanings: ByStatus = {
  inquiry:
    'The bank asks for information about this charge. No money has moved. Submit evidence before the deadline, or refund the order.',
  inquiry_closed: 'The bank closed its inquiry. No money has moved.',
  needs_response:
    'The cardholder disputed this charge and the funds are on hold. Submit evidence before the deadline, or accept the dispute.',
  under_review: 'The bank is reviewing the evidence. The funds are on hold until it decides.',
  won: 'The dispute was decided in your favor. You keep the funds.',
  lost: 'The dispute was decided in the cardholder’s favor. The funds were returned to the cardholder.',
  accepted: 'You accepted the dispute. The funds were returned to the cardholder.',
};

const happened: ByStatus = {
  inquiry: 'Inquiry opened',
  inquiry_closed: 'Inquiry closed',
  needs_response: 'Dispute opened',
  under_review: 'Under review',
  won: 'Dispute won',
  lost: 'Dispute lost',
  accepted: 'Dispute accepted',
};

/** What the cardholder says, by reason. */
const reasons: Readonly<Record<Dispute['reason'], readonly [label: string, claim: string]>> = {
  fraudulent: ['Fraudulent', 'The cardholder says that they did not make this payment.'],
  product_not_received: ['Product not received', 'The cardholder says that the product or service did not arrive.'],
  product_unacceptable: [
    'Product unacceptable',
    'The cardholder says that the product was defective or not as described.',
  ],
  subscription_canceled: [
    'Subscription canceled',
    'The cardholder says that you charged a subscription after it was canceled.',
  ],
  duplicate: ['Duplicate', 'The cardholder says that you charged the same purchase twice.'],
  credit_not_processed: ['Credit not processed', 'The cardholder says that a refund you owe did not arrive.'],
  unrecognized: ['Unrecognized', 'The cardholder does not recognize the charge on their statement.'],
  general: ['General', 'The bank gave no specific reason.'],
};

type EvidenceText = keyof Dispute['evidence'];

export interface Question {
  readonly name: string & EvidenceText;
  readonly label: string;
  readonly hint: string;
  readonly isLine?: boolean;
}

/** The texts of the evidence, in the order of the form. */
const questions: readonly Question[] = [
  {
    name: 'explanation',
    label: 'Why is this charge valid?',
    hint: 'Answer the cardholder’s claim in a few sentences. The bank reads this first.',
  },
  {
    name: 'product_description',
    label: 'What did the customer buy?',
    hint: 'Describe the product or service as the customer saw it.',
  },
  {
    name: 'customer_communication',
    label: 'What did you and the customer write?',
    hint: 'Paste emails or messages that support your case.',
  },
  {
    name: 'service_date',
    label: 'Date of the service',
    hint: 'When the customer received or used the service.',
    isLine: true,
  },
  { name: 'shipping_date', label: 'Shipping date', hint: 'When you shipped the product.', isLine: true },
  { name: 'shipping_carrier', label: 'Carrier', hint: 'For example UPS or DHL.', isLine: true },
  {
    name: 'shipping_tracking_number',
    label: 'Tracking number',
    hint: 'The bank uses it to check the delivery.',
    isLine: true,
  },
  { name: 'refund_policy', label: 'Refund policy', hint: 'Your policy, and where the customer saw it.' },
  { name: 'cancellation_policy', label: 'Cancellation policy', hint: 'Your policy, and where the customer saw it.' },
];

const fileKinds: Readonly<Record<string, string>> = {
  receipt: 'Receipt',
  customer_communication: 'Messages with the customer',
  customer_signature: 'Signature of the customer',
  shipping_documentation: 'Proof of shipping',
  service_documentation: 'Proof of service',
  refund_policy: 'Refund policy',
  cancellation_policy: 'Cancellation policy',
  other: 'Other',
};

export const disputes = {
  unmatched: 'Which payment is it?',
  withoutPayment: 'Disputes without a payment',
  unmatchedLead:
    'Your processor reported these disputes without their payment, so please choose it. Nothing changes until you do.',
  unmatchedNone: 'No payment fits. Look up the payment at your processor, and search for it here.',
  searchPayments: 'Search payments of this processor',
  searchPaymentsHint: 'Order number or amount',
  searchedNone: 'No payment of this processor has this order number or amount.',
  unmatchedDone: 'Decision saved',
  matchPayment: 'Dispute this payment',
  matchPaymentText: 'The order becomes disputed, and the dispute appears in the list. This cannot be undone.',
  dismissUnmatched: 'Not a payment of this company',
  dismissUnmatchedText: 'The dispute moves to the dismissed ones below, and no payment changes.',
  dismissedDisputes: (count: number) => `Dismissed (${count})`,
  dismissedLead: 'You decided that these are not payments of this company. You can still choose a payment.',
  dismissedAt: 'Dismissed',
  reportedAgain: (closed: string) => `You closed this dispute as ${closed}. Your processor reported it again, later.`,
  closedAs: {
    inquiry: 'answered',
    inquiry_closed: 'answered',
    needs_response: 'answered',
    under_review: 'answered',
    won: 'won',
    lost: 'lost',
    accepted: 'accepted',
  },
  reopen: 'Reopen the dispute',
  reopenText: 'The dispute needs a response again. The order and its events stay as they are.',
  keepClosed: 'Keep it closed',
  keepClosedText: 'The report moves to the dismissed ones below, and the dispute stays as you closed it.',
  title: 'Disputes',
  lead: 'Charges that cardholders disputed with their bank.',
  dispute: 'Dispute',
  reason: 'Reason',
  order: 'Order',
  deadline: 'Deadline',
  respondBy: (date: string, left: string) => `Respond by ${date}, in ${left}`,
  overdue: (date: string, late: string) => `Overdue: was due ${date}, ${late} ago`,
  emptyTitle: 'No disputes',
  empty:
    'A dispute begins when a cardholder asks their bank to reverse a charge. The funds are on hold until you accept it, or the bank decides on your evidence.',
  emptySandbox:
    'To try one, charge the test card 4000 0000 0000 0259, or open a paid order and choose Simulate dispute.',
  respond: 'Respond',
  prefilled: 'We filled in what is recorded of this payment. Check and change it: nothing is sent until you submit.',
  takenFrom: 'Filled from',
  takenLine: (number: number, source: string) => `line ${number}: ${source}`,
  useSuggestion: 'Fill from records',
  sources: {
    order: 'order',
    receipt: 'receipt',
    emails: 'emails',
    shipping: 'shipping address',
    customer: 'customer',
    history: 'earlier orders',
    checkout: 'checkout page',
    subscription: 'subscription',
    products: 'product catalog',
    processor: 'processor’s answer',
    metadata: 'metadata of the order',
    settings: 'settings',
  },
  networkCode: 'Network reason code',
  processor: 'Processor',
  claim: 'Claim',
  evidence: 'Evidence',
  files: 'Files',
  submittedEvidence: 'Submitted evidence',
  unsentDraft: 'Draft, not submitted',
  noEvidence: 'No evidence was submitted.',
  sandboxHint:
    'In the sandbox, the text winning_evidence in any field wins the dispute and losing_evidence loses it. Other evidence stays under review.',
  textLimit: (count: string) => `At most ${count} characters in all fields together.`,
  textTooLong: (count: string) => `The texts have ${count} characters in all. Shorten them.`,
  fileLimit: (count: number, size: string, types: string) =>
    `Up to ${count} ${count === 1 ? 'file' : 'files'} of ${size} each: ${types}.`,
  fileKind: 'Type of file',
  fileName: 'File',
  fileSize: 'Size',
  chooseFile: 'Add file',
  uploading: (name: string) => `Uploading ${name}…`,
  fileAdded: 'File added.',
  fileRemoved: 'File removed.',
  removeFile: (name: string) => `Remove ${name}`,
  noFiles: 'No files yet.',
  filesFull: (count: number) => `This dispute has ${count} files, the most the processor accepts. Remove one first.`,
  fileTooLarge: (name: string, size: string) => `${name} is too large. The limit is ${size}.`,
  fileWrongType: (name: string, types: string) => `${name} has the wrong type. Accepted: ${types}.`,
  fileUnreadable: (name: string) => `${name} could not be read. Choose it again.`,
  defense: 'Reason of the defense',
  defenseHint:
    'The processor defends you for one reason, with the documents that the card network wants for it. Choose the one that is true for this payment.',
  defenseReason: 'Defend because',
  chooseReason: 'Choose a reason',
  reasonMissing: 'Choose the reason of the defense first.',
  noDocuments: 'This reason needs no documents.',
  noDocument: 'Nothing',
  textsAsDocument: 'The texts above, as a PDF',
  isSupplied: 'The processor has it already',
  needs: {
    required: 'Required',
    one_of: 'At least one of these',
    alternative: 'Instead of the required ones',
    optional: 'Optional',
  },
  documentsMissing: (documents: readonly string[]) => `Still needed: ${documents.join(', ')}.`,
  oneOfMissing: (documents: readonly string[]) => `At least one is needed: ${documents.join(', ')}.`,
  notSent: (names: readonly string[]) =>
    `Not sent yet: ${names.join(', ')}. Choose as which document to send it, or remove it.`,
  defendsFor: (reason: string) => `You are defended because: ${reason}. The processor gets:`,
  sentAs: (material: string, document: string) => `${material}, as ${document}`,
  once: 'Evidence can be submitted once, and not changed afterwards.',
  saveDraft: 'Save draft',
  draftSaved: 'Draft saved.',
  submit: 'Submit evidence',
  submitTitle: 'Submit this evidence?',
  submitText: 'You can submit evidence only once. You cannot change it or add to it afterwards.',
  submitted: 'Evidence submitted.',
  accept: 'Accept dispute',
  acceptTitle: 'Accept this dispute?',
  acceptText: 'The funds go back to the cardholder and you cannot submit evidence. This cannot be undone.',
  acceptByHandText:
    'Records that you do not contest the dispute. Nothing is sent to the processor: tell your acquirer yourself. This cannot be undone.',
  answeredOutside:
    'The cardholder disputed this charge and the funds are on hold. Answer outside of this service, and record the decision here.',
  acceptedDone: 'Dispute accepted.',
  decide: {
    live: 'The processor does not report the decision. Record it here when your acquirer tells you.',
    rehearsal: 'The processor does not report the decision. Record it here when your acquirer tells you.',
    sandbox: 'In the sandbox, you make the decision.',
  },
  markWon: 'Mark as won',
  markWonText: 'Closes the dispute in your favor. You keep the funds.',
  markLost: 'Mark as lost',
  markLostText: 'Closes the dispute in the cardholder’s favor. The funds go back to the cardholder.',
  decided: 'Dispute closed.',
  evidenceSubmitted: 'Evidence submitted',
  meanings,
  happened,
  reasons,
  questions,
  fileKinds,
};
