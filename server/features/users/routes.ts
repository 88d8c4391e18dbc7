import { defineUserRoute, type UserAnswer, type UserRoute } from './caller.ts';
import { isUuid } from '../../platform/ids.ts';
import { notFound } from '../../errors.ts';
import {
  acceptance,
  oneTimeSignIn,
  passwordChange,
  resetCompletion,
  resetRequest,
  signIn as signInBody,
  signUp as signUpBody,
  stepUp as stepUpBody,
  totpConfirmation,
  userUpdate,
} from './schemas.ts';
import {
  acceptInvitation,
  beginTotp,
  browserToken,
  changePassword,
  changeUser,
  completeReset,
  completeTotp,
  type CurrentSession,
  endSession,
  endTotp,
  readAgain,
  readSession,
  requestReset,
  sessionsOf,
  showInvitation,
  showSession,
  signIn,
  signInOnce,
  signUp,
  stepUp,
  type UserDependencies,
} from './service.ts';

export function userRoutes(dependencies: UserDependencies): UserRoute[] {
  const { db } = dependencies;
  /** Returns the session after the change. */
  const signedIn = async (token: string): Promise<UserAnswer> => {
    const current = await readSession(dependencies, token);
    const browser = browserToken(dependencies, current.user);
    return { body: await showSession(dependencies, current), token, browser, userId: current.user.id };
  };
  const shown = async (current: CurrentSession): Promise<UserAnswer> => ({
    body: await showSession(dependencies, await readAgain(db, current)),
  });
  return [
    defineUserRoute({
      method: 'POST',
      path: '/dashboard/sign_up',
      action: 'signUp',
      needsSession: false,
      limitsAttempts: true,
      limitsCalls: true,
      body: signUpBody,
      status: 201,
      handle: async ({ body, client, audit }) => signedIn(await signUp(dependencies, body, client, audit)),
    }),
    defineUserRoute({
      method: 'POST',
      path: '/dashboard/session',
      action: 'signIn',
      needsSession: false,
      limitsAttempts: true,
      body: signInBody,
      handle: async ({ body, client }) => signedIn(await signIn(dependencies, body, client)),
    }),
    defineUserRoute({
      method: 'POST',
      path: '/dashboard/session/once',
      action: 'signIn',
      needsSession: false,
      limitsAttempts: true,
      body: oneTimeSignIn,
      handle: async ({ body, client }) => signedIn(await signInOnce(dependencies, body.token, client)),
    }),
    defineUserRoute({
      method: 'GET',
      path: '/dashboard/session',
      needsSession: true,
      handle: ({ current }) => shown(current),
    }),
    defineUserRoute({
      method: 'DELETE',
      path: '/dashboard/session',
      action: 'signOut',
      needsSession: true,
      handle: async ({ current }) => {
        await endSession(dependencies, current, current.session.id);
        return { body: { signed_out: true }, token: null };
      },
    }),
    defineUserRoute({
      method: 'POST',
      path: '/dashboard/session/step_up',
      needsSession: true,
      limitsAttempts: true,
      body: stepUpBody,
      handle: async ({ current, body }) => {
        await stepUp(dependencies, current, body);
        return shown(current);
      },
    }),
    defineUserRoute({
      method: 'GET',
      path: '/dashboard/sessions',
      needsSession: true,
      handle: async ({ current }) => ({ body: { data: await sessionsOf(dependencies, current) } }),
    }),
    defineUserRoute({
      method: 'DELETE',
      path: '/dashboard/sessions/:id',
      action: 'endSession',
      needsSession: true,
      handle: async ({ current, params: { id = '' } }) => {
        if (!isUuid(id)) throw notFound('session');
        await endSession(dependencies, current, id.toLowerCase());
        return { body: { id: id.toLowerCase(), ended: true } };
      },
    }),
    defineUserRoute({
      method: 'PATCH',
      path: '/dashboard/user',
      action: 'updateUser',
      needsSession: true,
      body: userUpdate,
      handle: async ({ current, body }) => {
        await changeUser(dependencies, current, body);
        return shown(current);
      },
    }),
    defineUserRoute({
      method: 'POST',
      path: '/dashboard/password',
      action: 'changePassword',
      needsSession: true,
      limitsAttempts: true,
      body: passwordChange,
      handle: async ({ current, body, audit }) => {
        const token = await changePassword(dependencies, current, body, audit);
        return signedIn(token);
      },
    }),
    defineUserRoute({
      method: 'POST',
      path: '/dashboard/password_resets',
      needsSession: false,
      limitsAttempts: true,
      limitsCalls: true,
      body: resetRequest,
      handle: async ({ body }) => {
        await requestReset(dependencies, body.email);
        return { body: { sent: true } };
      },
    }),
    defineUserRoute({
      method: 'POST',
      path: '/dashboard/password_resets/complete',
      action: 'resetPassword',
      needsSession: false,
      limitsAttempts: true,
      body: resetCompletion,
      handle: async ({ body, audit }) => {
        const { browser } = await completeReset(dependencies, body.token, body.password, audit);
        return { body: { changed: true }, browser };
      },
    }),
    defineUserRoute({
      method: 'POST',
      path: '/dashboard/totp',
      action: 'beginTotp',
      needsSession: true,
      stepUp: true,
      handle: async ({ current }) => ({ body: await beginTotp(dependencies, current) }),
    }),
    defineUserRoute({
      method: 'POST',
      path: '/dashboard/totp/confirm',
      action: 'enableTotp',
      needsSession: true,
      limitsAttempts: true,
      body: totpConfirmation,
      handle: async ({ current, body, audit }) => ({
        body: await completeTotp(dependencies, current, body.code, audit),
      }),
    }),
    defineUserRoute({
      method: 'DELETE',
      path: '/dashboard/totp',
      action: 'disableTotp',
      needsSession: true,
      stepUp: true,
      handle: async ({ current, audit }) => {
        await endTotp(dependencies, current, audit);
        return { body: { disabled: true } };
      },
    }),
    defineUserRoute({
      method: 'GET',
      path: '/dashboard/invitations/:token',
      needsSession: false,
      limitsAttempts: true,
      handle: async ({ params: { token = '' } }) => ({ body: await showInvitation(dependencies, token) }),
    }),
    defineUserRoute({
      method: 'POST',
      path: '/dashboard/invitations/:token/accept',
      action: 'acceptInvitation',
      needsSession: false,
      limitsAttempts: true,
      body: acceptance,
      handle: async ({ params: { token = '' }, body, client, audit }) =>
        signedIn(await acceptInvitation(dependencies, token, body, client, audit)),
    }),
  ];
}
