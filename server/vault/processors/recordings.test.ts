import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { listen } from '../../../tests/support/listen.ts';
import {
  accountKinds,
  startTestAccounts,
  type TestAccounts,
  testConfiguration,
} from '../../../tests/support/test-accounts.ts';
import { openReplay } from '../../../simulators/replay.ts';
import { type Configuration, checkConfiguration, type KindName } from './kind.ts';
import { kindNamed } from './kinds.ts';
import type { Processor } from './processor.ts';
import { openScrubber, scrubbedAnswer } from './recording.ts';
import { makeCall, problemsOf, type Recording, recordStory, withCard } from './story.ts';
import { testEnvironmentOf } from './test-cards.ts';

/** Recordings of test accounts: here of the simulators, and those in simulators/recordings. */

let accounts: TestAccounts;
before(async () => {
  accounts = await startTestAccounts();
});
after(() => Promise.all(accountKinds.map((kind) => accounts[kind].stop())));

function openAt(kind: KindName, configuration: Configuration, origin: string): Processor {
  const described = kindNamed(kind);
  const extraOrigins = [new URL(origin).origin];
  return described.open(checkConfiguration(described, configuration), { timeoutMs: 5_000, extraOrigins });
}

/** What an outcome says, without the times of the replay and the texts that were scrubbed. */
function decisive(outcome: object) {
  const { outcome: kind, failureCode, isProcessorFault, response } = outcome as Partial<Record<string, unknown>>;
  const { response_code, avs_result, cvv_result } = (response ?? {}) as Partial<Record<string, unknown>>;
  return { kind, failureCode, isProcessorFault, response_code, avs_result, cvv_result };
}

/** Makes the recorded calls against the recorded answers, and compares the outcomes. */
async function replay(recording: Recording, configuration: Configuration): Promise<void> {
  const kind = kindNamed(recording.kind);
  const { server, expect, left } = openReplay();
  const url = await listen(server);
  // The name of the merchant account is scrubbed in the answers, too.
  const adyen = { api_url: `${url}/checkout/v72`, merchant_account: 'scrubbed' };
  const urls = recording.kind === 'adyen' ? adyen : { api_url: url };
  const own = recording.kind === 'acquirer' ? { url: `${url}/` } : urls;
  const processor = openAt(recording.kind, { ...configuration, ...own }, url);
  try {
    for (const call of recording.calls) {
      expect(call);
      const request = { ...call.request, companyId: 'replay', validUntilMs: Date.now() + kind.requestLifeMs };
      const outcome = await makeCall(processor, call.call, withCard(kind, { ...call, request }));
      assert.deepEqual(decisive(outcome), decisive(call.outcome), call.name);
      assert.equal(left(), 0, `${call.name}: every recorded request was sent`);
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('a recording of a test account', () => {
  for (const kind of accountKinds) {
    it(`of ${kind} contains no credential, number or name, and replays with the same outcomes`, async () => {
      const configuration = testConfiguration(accounts, kind);
      const recording = await recordStory(
        kindNamed(kind),
        openAt(kind, configuration, accounts[kind].url),
        configuration,
      );
      const text = JSON.stringify(recording);
      const { numbers, approved } = testEnvironmentOf(kind);
      for (const secret of [...Object.values(configuration), ...numbers, 'Test Customer', '888 Test Street']) {
        assert.ok(!text.includes(secret), `the recording contains ${secret.slice(0, 6)}…`);
      }
      assert.ok(!text.includes(`"${approved.cvc}"`), 'no security code');
      assert.deepEqual(problemsOf(recording), []);
      await replay(recording, configuration);
    });
  }

  const folder = new URL('../../../simulators/recordings/', import.meta.url);
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
    it(`${file} is read as it was recorded`, async () => {
      const recording = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Recording;
      await replay(recording, testConfiguration(accounts, recording.kind));
    });
  }
});

describe('what a recording keeps', () => {
  const secret = 'sk_test_51ReallySecret';
  const scrubber = openScrubber([secret, '4242424242424242']);

  it('has one replacement for an id, of the same length and prefix', () => {
    const [one, two] = ['ch_3NabcDEF0123456789', 'pi_3NabcDEF0123456789'];
    const first = scrubber.text(`${one} ${two} ${one}`).split(' ');
    assert.equal(first[0], first[2]);
    assert.notEqual(first[0], first[1]);
    assert.match(first[0] ?? '', /^ch_/);
    assert.equal(first[0]?.length, one.length);
    assert.ok(!first.join().includes('3Nabc'));
  });

  it('has no people, credentials or numbers, in JSON, XML and forms', () => {
    const answers = [
      ['application/json', `{"name":"Ada","nested":{"email":"a@b.c","note":"key ${secret}"},"n":"4242424242424242"}`],
      [
        'text/xml',
        `<?xml version="1.0"?><r><first_name>Ada</first_name><key>${secret}</key><n>4242424242424242</n></r>`,
      ],
      ['text/html', `response=1&first_name=Ada&text=${secret}&n=4242424242424242`],
      ['text/html', `<html>Ada ${secret}</html>`],
    ] as const;
    for (const [type, answer] of answers) {
      const kept = scrubbedAnswer(scrubber, type, answer);
      for (const part of ['Ada', 'a@b.c', secret, '4242424242424242']) assert.ok(!kept.includes(part), kept);
    }
  });

  it('has what decides: statuses, codes, checks and advice', () => {
    const answer = {
      status: 'failed',
      decline_code: 'lost_card',
      checks: { address_line1_check: 'pass' },
      advice_code: 'do_not_try_again',
    };
    assert.deepEqual(scrubber.value(answer), answer);
  });
});
