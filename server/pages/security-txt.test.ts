import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startTestService } from '../../tests/support/service.ts';
import { loadConfig } from '../config.ts';

const path = '/.well-known/security.txt';

describe('/.well-known/security.txt', () => {
  it('names the contact and a time of expiry within a year', async () => {
    const service = await startTestService({ settings: { SVC_SECURITY_CONTACT: 'security@example.com' } });
    try {
      const reply = await fetch(service.baseUrl + path);
      assert.equal(reply.headers.get('content-type'), 'text/plain; charset=utf-8');
      const text = await reply.text();
      const fields = Object.fromEntries(
        text
          .trimEnd()
          .split('\n')
          .map((line) => line.split(/: (.*)/s, 2)),
      );
      assert.equal(fields.Contact, 'mailto:security@example.com');
      assert.ok(fields.Canonical?.endsWith(path));
      const aheadDays = (Date.parse(fields.Expires ?? '') - Date.now()) / 86_400_000;
      assert.ok(aheadDays > 80 && aheadDays < 365, fields.Expires);
    } finally {
      await service.stop();
    }
  });

  it('does not exist without a contact', async () => {
    const service = await startTestService();
    try {
      assert.equal((await fetch(service.baseUrl + path)).status, 404);
    } finally {
      await service.stop();
    }
  });

  it('accepts an email address or an https URL as contact, and nothing else', () => {
    const contactOf = (value: string) => loadConfig({ SVC_SECURITY_CONTACT: value }).SVC_SECURITY_CONTACT;
    assert.equal(contactOf('https://example.com/security'), 'https://example.com/security');
    assert.equal(contactOf('mailto:a@example.com'), 'mailto:a@example.com');
    for (const wrong of ['http://example.com', 'security', 'a@example.com\nExpires: never', 'javascript:alert(1)'])
      assert.throws(() => contactOf(wrong), /SVC_SECURITY_CONTACT must be an email address or an https URL/, wrong);
  });
});
