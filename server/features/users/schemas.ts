import type { Mode } from '../../company.ts';
import Type, { type Static } from 'typebox';
import { name, phone, typedEmail } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';

const closed = { additionalProperties: false } as const;
/** For sign-in: an address that was once accepted stays valid. */
const knownEmail = Type.String({ minLength: 1, maxLength: limits.emailLength });
/** The minimum length is checked when a password is set; at sign-in it is not checked. */
const password = Type.String({ minLength: 1, maxLength: limits.passwordLengthMax });
const code = Type.Optional(Type.String({ minLength: 1, maxLength: 64 }));
const token = Type.String({ minLength: 1, maxLength: 200 });

export const signUp = Type.Object(
  {
    email: typedEmail(),
    password,
    first_name: name(),
    last_name: name(),
    phone_number: Type.Optional(phone()),
    company_name: name(),
  },
  closed,
);
export type SignUp = Static<typeof signUp>;

export const signIn = Type.Object({ email: knownEmail, password, totp_code: code }, closed);
export type SignIn = Static<typeof signIn>;

export const oneTimeSignIn = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: limits.textLength }) },
  closed,
);

export const stepUp = Type.Object({ password, totp_code: code }, closed);
export type StepUp = Static<typeof stepUp>;

/** What the invitation does not say, the person adds. */
export const acceptance = Type.Object(
  {
    ...stepUp.properties,
    first_name: Type.Optional(name()),
    last_name: Type.Optional(name()),
    phone_number: Type.Optional(phone()),
  },
  closed,
);
export type Acceptance = Static<typeof acceptance>;

export const userUpdate = Type.Object(
  { first_name: Type.Optional(name()), last_name: Type.Optional(name()), phone_number: Type.Optional(phone()) },
  closed,
);
export type UserUpdate = Static<typeof userUpdate>;

export const passwordChange = Type.Object({ current_password: password, password }, closed);
export type PasswordChange = Static<typeof passwordChange>;

export const resetRequest = Type.Object({ email: knownEmail }, closed);
export const resetCompletion = Type.Object({ token, password }, closed);
export const totpConfirmation = Type.Object({ code: Type.String({ minLength: 1, maxLength: 64 }) }, closed);

/** The response of these routes. */
export interface Session {
  readonly user: {
    readonly id: string;
    readonly email: string;
    readonly first_name: string;
    readonly last_name: string;
    readonly phone_number: string | null;
    readonly totp_enabled: boolean;
  };
  readonly companies: readonly {
    readonly id: string;
    readonly account_id: string;
    readonly name: string;
    readonly mode: Mode;
    readonly api_version: string;
    readonly time_zone: string;
    readonly role: { readonly id: string; readonly name: string; readonly default_page: string };
    readonly permissions: readonly string[];
  }[];
  readonly stepped_up_until: string;
}

export interface SessionEntry {
  readonly id: string;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly expires_at: string;
  readonly address: string;
  readonly user_agent: string;
  readonly current: boolean;
}

export interface ShownInvitation {
  readonly company_name: string;
  readonly email: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly role_name: string;
  readonly status: 'pending' | 'active' | 'blocked';
  readonly expired: boolean;
  readonly has_account: boolean;
}

export interface TotpEnrolment {
  readonly secret: string;
  readonly otpauth_url: string;
}

export interface TotpRecovery {
  readonly recovery_codes: readonly string[];
}
