import Type, { type Static } from 'typebox';
import { name, phone } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';

const closed = { additionalProperties: false } as const;
const email = Type.String({ format: 'email', maxLength: limits.emailLength });
/** To sign in with: an address that was once accepted always is. */
const knownEmail = Type.String({ minLength: 1, maxLength: limits.emailLength });
/** How long it must be is checked where the person is known; what is asked for to sign in is not judged at all. */
const password = Type.String({ minLength: 1, maxLength: limits.passwordLengthMax });
const code = Type.Optional(Type.String({ minLength: 1, maxLength: 64 }));
const token = Type.String({ minLength: 1, maxLength: 200 });

export const signUp = Type.Object(
  { email, password, first_name: name(), last_name: name(), phone_number: phone(), company_name: name() },
  closed,
);
export type SignUp = Static<typeof signUp>;

export const signIn = Type.Object({ email: knownEmail, password, totp_code: code }, closed);
export type SignIn = Static<typeof signIn>;

export const stepUp = Type.Object({ password, totp_code: code }, closed);
export type StepUp = Static<typeof stepUp>;

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
