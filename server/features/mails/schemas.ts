/** What has become of an email, for the dashboard. */
export const mailStates = ['sent', 'waiting', 'failed'] as const;
export type MailState = (typeof mailStates)[number];
