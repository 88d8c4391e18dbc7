import { latestMails } from '../server/features/mails/service.ts';
import { withDatabase } from './connect.ts';
import type { Flags } from './options.ts';

const usualCount = 20;
const textDeleted = '(The text was deleted when the email was sent.)';

/** `mails`: shows the latest emails, sent or not. The newest comes last, at the bottom of the terminal. */
export async function mailsCommand(_words: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async ({ shards, mailKey }) => {
    const mails = await latestMails(shards, mailKey, usualCount);
    if (flags.json) return `${JSON.stringify(mails)}\n`;
    if (mails.length === 0) return 'No emails yet.\n';
    const shown = mails
      .toReversed()
      .map(({ recipient, subject, body, inserted_at, document }) =>
        [
          `${inserted_at.toISOString()}  to ${recipient}`,
          subject,
          ...(document ? [`Attachment: ${document.number}.pdf`] : []),
          '',
          body || textDeleted,
        ].join('\n'),
      );
    return `${shown.join(`\n${'-'.repeat(72)}\n`)}\n`;
  });
}
