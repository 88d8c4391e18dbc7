/** For the dashboard. An email is kept if a sandbox wrote it to an address outside of its team. */
export const mailStates = ['sent', 'waiting', 'failed', 'kept'] as const;
export type MailState = (typeof mailStates)[number];
