import type { EvidenceLimits } from './notices.ts';
import type { Processor } from './processor.ts';

/** As they are stored. */
const kindNames = ['acquirer', 'stripe', 'nmi', 'adyen'] as const;
export type KindName = (typeof kindNames)[number];

/** A kind of processor that a live company can connect. */
export interface ProcessorKind {
  readonly kind: KindName;
  /** As people read it, for example `Stripe`. */
  readonly name: string;
  /** What an owner enters to connect it. */
  readonly fields: readonly ConfigurationField[];
  /**
   * The origins that the kind may call, for example `https://api.stripe.com`; `*` stands for one label. Others need the
   * permission of the operator, see `allowedUrl`.
   */
  readonly origins: readonly string[];
  /** After this time a request that was sent can no longer be executed. */
  readonly requestLifeMs: number;
  readonly timeoutMs: number;
  /** Whether it sends notices, so that the owner has to enter our notice URL at the processor. */
  readonly sendsNotices: boolean;
  /** Whether it has no list of what it executed, so that after a restore an operator compares its report. */
  readonly cannotList?: true;
  /** What the merchant writes to the processor's support if the account takes no charge without the security code. */
  readonly securityCodeRequest?: string;
  /** Whether several accounts can report the same ID. */
  readonly sharesAccountIds?: boolean;
  /** Whether accounts have to turn on that the processor reports the reference of the card network. */
  readonly hidesNetworkReferences?: true;
  /** What evidence it takes about a dispute; absent if it takes none through us. */
  readonly evidence?: EvidenceLimits;
  /** Whether it reports that a dispute began, but never how it ended: the merchant records the decision. */
  readonly reportsNoDecisions?: true;
  /** Throws a `ConfigurationProblem` if the fields do not fit together. */
  open(configuration: Configuration, options: OpenOptions): Processor;
}

export interface OpenOptions {
  readonly timeoutMs: number;
  /** Origins that the operator allows beside those of the kind. */
  readonly extraOrigins: readonly string[];
}

/** The values of the fields, as the owner entered them. The whole is sealed, because some are secret. */
export type Configuration = Readonly<Record<string, string>>;

interface ConfigurationField {
  /** For example `secret_key`. */
  readonly name: string;
  /** The name that the processor uses for it, as people find it there. */
  readonly label: string;
  /** One or two sentences: where to find the value, and what it is for. */
  readonly help: string;
  readonly isSecret: boolean;
  readonly isOptional?: boolean;
  /** Not shown in the dashboard, for example the URL of another host. */
  readonly isHidden?: boolean;
  /** The form of a valid value. */
  readonly pattern?: RegExp;
  /** What a valid value is, for the error: "must start with sk_live_". */
  readonly rule?: string;
  readonly choices?: readonly string[];
}

/** A field of a configuration is wrong. The message never contains the value. */
export class ConfigurationProblem extends Error {
  readonly field: string;
  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/** Returns what is wrong with the value of a field. */
function problemOf({ isOptional, choices, pattern, rule }: ConfigurationField, value: string): string | undefined {
  if (value === '') return isOptional ? undefined : 'is required';
  if (choices && !choices.includes(value)) return `must be one of ${choices.join(', ')}`;
  return pattern && !pattern.test(value) ? (rule ?? 'has the wrong form') : undefined;
}

/** Returns the configuration with nothing but the fields of its kind; throws a `ConfigurationProblem`. */
export function checkConfiguration({ name, fields }: ProcessorKind, entered: Configuration): Configuration {
  const unknown = Object.keys(entered).find((key) => !fields.some((field) => field.name === key));
  if (unknown !== undefined) throw new ConfigurationProblem(unknown, `is not a field of ${name}`);
  const checked: Record<string, string> = {};
  for (const field of fields) {
    const value = entered[field.name]?.trim() ?? '';
    const problem = problemOf(field, value);
    if (problem) throw new ConfigurationProblem(field.name, problem);
    if (value !== '') checked[field.name] = value;
  }
  return checked;
}

/**
 * Returns the URL if its origin is one of the kind, or one that the operator allows. Card data is sent there, so a
 * person with access to the dashboard must not be able to choose any host.
 */
export function allowedUrl(
  field: string,
  url: string,
  origins: readonly string[],
  { extraOrigins }: OpenOptions,
): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || parsed.username || parsed.password) throw new ConfigurationProblem(field, 'must be a URL');
  const fits = (pattern: string): boolean => {
    const [before, after] = pattern.split('*');
    if (after === undefined) return parsed.origin === pattern;
    const label = parsed.origin.slice(before?.length, -after.length);
    return parsed.origin === `${before}${label}${after}` && /^[a-z0-9-]+$/.test(label);
  };
  if (![...origins, ...extraOrigins].some(fits)) {
    const message = `must be on ${origins.join(' or ')}. The operator allows other hosts with SVC_PROCESSOR_ORIGINS`;
    throw new ConfigurationProblem(field, message);
  }
  return url;
}
