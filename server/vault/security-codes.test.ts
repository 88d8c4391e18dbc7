import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { openSecurityCodes, SecurityCode } from './security-codes.ts';

const someCard = () => ({ companyId: randomUUID(), cardId: randomUUID() });
const isErased = (code: SecurityCode): boolean =>
  code.reveal() === undefined && SecurityCode.bytesOf(code).every((byte) => byte === 0);
const approved = async (): Promise<string> => 'approved';
const isUnseen = (outcome: string): boolean => outcome === 'not_sent';

/** Which code a charge of the card is sent with. */
async function sentWith(codes: ReturnType<typeof openSecurityCodes>, card: ReturnType<typeof someCard>) {
  let sent: string | undefined;
  await codes.use(
    card,
    async (code) => {
      sent = code?.reveal();
      return 'approved';
    },
    isUnseen,
  );
  return sent;
}

describe('a security code that is kept for the first charge', () => {
  it('is sent with one charge of its card, and overwritten with zeros after the answer', async () => {
    const codes = openSecurityCodes();
    const [card, code] = [someCard(), new SecurityCode('9173')];
    codes.keep(card, code);
    assert.equal(await sentWith(codes, someCard()), undefined, 'not with a charge of another card');
    assert.equal(await sentWith(codes, { ...someCard(), cardId: card.cardId }), undefined, 'nor of another company');
    assert.equal(await sentWith(codes, card), '9173');
    assert.equal(await sentWith(codes, card), undefined);
    assert.ok(isErased(code));
  });

  it('is sent with only one of several charges at once', async () => {
    const codes = openSecurityCodes();
    const card = someCard();
    codes.keep(card, new SecurityCode('917'));
    const sent = await Promise.all(Array.from({ length: 10 }, () => sentWith(codes, card)));
    assert.deepEqual(
      sent.filter((code) => code !== undefined),
      ['917'],
    );
  });

  it('is gone after a decline, an unknown outcome and an error', async () => {
    for (const end of [async () => 'declined', async () => 'unknown', () => Promise.reject(new Error('it failed'))]) {
      const codes = openSecurityCodes();
      const [card, code] = [someCard(), new SecurityCode('917')];
      codes.keep(card, code);
      await codes.use<string>(card, end, isUnseen).catch(() => undefined);
      assert.ok(isErased(code));
      assert.equal(await sentWith(codes, card), undefined);
    }
  });

  it('stays for the next processor if the first one was not sent the charge', async () => {
    const codes = openSecurityCodes();
    const card = someCard();
    codes.keep(card, new SecurityCode('917'));
    await codes.use(card, async () => 'not_sent', isUnseen);
    assert.equal(await sentWith(codes, card), '917');
  });

  it('is overwritten after its time, also if a charge that was not sent took it meanwhile', async () => {
    const codes = openSecurityCodes(40);
    const [one, other] = [new SecurityCode('917'), new SecurityCode('918')];
    const [card, tried] = [someCard(), someCard()];
    codes.keep(card, one);
    codes.keep(tried, other);
    await codes.use(tried, async () => 'not_sent', isUnseen);
    await sleep(80);
    assert.ok(isErased(one) && isErased(other));
    assert.equal(await sentWith(codes, card), undefined);
  });

  it('is overwritten when the card is removed, when it is kept again, and when too many are kept', async () => {
    const codes = openSecurityCodes(60_000, 2);
    const kept = Array.from({ length: 4 }, (_, index) => ({ ...someCard(), code: new SecurityCode(`91${index}`) }));
    for (const { code, ...card } of kept.slice(0, 3)) codes.keep(card, code);
    const [first, second, third, fourth] = kept;
    assert.ok(first && second && third && fourth);
    assert.ok(isErased(first.code) && !isErased(second.code));
    codes.erase(second);
    assert.ok(isErased(second.code));
    codes.keep(third, fourth.code);
    assert.ok(isErased(third.code));
    assert.equal(await sentWith(codes, third), '913');
    codes.keep(first, new SecurityCode('919'));
    codes.eraseAll();
    assert.equal(await sentWith(codes, first), undefined);
  });

  it('prints nowhere', async () => {
    const code = new SecurityCode('9173');
    assert.doesNotMatch(`${code} ${JSON.stringify({ code })} ${inspect({ code }, { depth: 9 })}`, /9173/);
    await openSecurityCodes().use(someCard(), approved, isUnseen);
  });
});
