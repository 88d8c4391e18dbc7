import assert from 'node:assert/strict';
import { it } from 'node:test';
import pg from 'pg';
import { logLine } from '../../tests/support/log-lines.ts';
import { lineFields, logFormatVersion } from './log-format.ts';
import { lineForPeople } from './log-for-people.ts';
import { createLog } from './log.ts';

function written(write: (log: ReturnType<typeof createLog>) => void): string {
  let text = '';
  write(createLog('trace', { write: (line) => void (text += line) }));
  return text;
}

it('names the fields of a line as OpenTelemetry does, with the version of the format', () => {
  const text = written((log) =>
    log.warn(
      { method: 'GET', route: '/v1/orders', status: 200, company_id: 'c', url: 'u', count: 3, absent: undefined },
      'hi',
    ),
  );
  const { timestamp, ...line } = JSON.parse(text) as Record<string, unknown>;
  assert.match(String(timestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(line, {
    severity_text: 'WARN',
    severity_number: 13,
    log_format: logFormatVersion,
    attributes: {
      'http.request.method': 'GET',
      'http.route': '/v1/orders',
      'http.response.status_code': 200,
      'svc.company': 'c',
      'url.full': 'u',
      'svc.count': 3,
    },
    body: 'hi',
  });
  // A field that the guide does not list would be a change that readers do not know of.
  for (const field of Object.keys(JSON.parse(text))) assert.ok(field in lineFields, field);
  assert.equal(text.split('\n').length, 2);
});

it('numbers the severities as OpenTelemetry does', () => {
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
  const lines = levels.map((level) => logLine(written((log) => log[level]('x'))));
  assert.deepEqual(
    lines.map(({ severity_text, severity_number }) => [severity_text, severity_number]),
    [
      ['TRACE', 1],
      ['DEBUG', 5],
      ['INFO', 9],
      ['WARN', 13],
      ['ERROR', 17],
      ['FATAL', 21],
    ],
  );
});

it('describes an error without card numbers and without the row that it quotes', () => {
  const number = '4242424242424242';
  const plain = logLine(written((log) => log.error({ err: new TypeError(`no ${number}`) }, 'x'))).attributes;
  assert.equal(plain['exception.type'], 'TypeError');
  assert.equal(plain['exception.message'], 'no ***');
  assert.match(String(plain['exception.stacktrace']), /^TypeError: no \*\*\*\n/);
  const fields = { code: '23505', constraint: 'one_key', table: 'keys', detail: 'Key (email)=(ada@shop.example)' };
  const broken = Object.assign(new pg.DatabaseError('duplicate', 1, 'error'), fields);
  const text = written((log) => log.error({ err: broken }, 'x'));
  assert.doesNotMatch(text, /ada@/);
  const { attributes } = logLine(text);
  assert.equal(attributes['db.response.status_code'], '23505');
  assert.equal(attributes['svc.constraint'], 'one_key');
  assert.equal(attributes['db.collection.name'], 'keys');
});

it('shows a person at a terminal the time, what happened and the details, in one line', () => {
  const line = lineForPeople(
    written((log) => log.info({ company: 'c', percent: 25, reason: 'two words' }, 'creating')),
  );
  assert.match(line, /^\d\d:\d\d:\d\d  creating  company=c  percent=25  reason="two words"\n$/);
  assert.match(lineForPeople(written((log) => log.warn('careful'))), /^\d\d:\d\d:\d\d  WARN  careful\n$/);
  const failed = lineForPeople(written((log) => log.error({ err: new TypeError('broken') }, 'a job failed')));
  assert.match(
    failed,
    /ERROR  a job failed  exception\.type=TypeError  exception\.message=broken\nTypeError: broken\n    at /,
  );
});
