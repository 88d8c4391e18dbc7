import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { formatExpiry } from '../../sdk/browser/src/cards.ts';
import { answerTokens, card, openCheckout, until, violations, type Visit } from '../support/card-fields.ts';
import { someCustomer } from '../support/service.ts';

/** The card fields as a shopper sees them: typing, errors, answers of the service, the look. */

const { service, during, inContext, stop } = await openCheckout();
after(stop);

const foreignTexts = { title: 'כרטיס', number: 'מספר כרטיס', numberIncomplete: 'המספר קצר מדי', cvc: 'קוד' };

const errorAnswer = (
  status: number,
  code: string,
  fieldErrors: object[] = [],
  headers: Record<string, string> = {},
) => ({
  status,
  headers,
  json: {
    error: {
      type: 'invalid_request_error',
      code,
      message: `The service says ${code}.`,
      param: null,
      request_id: 'req_test',
      field_errors: fieldErrors,
    },
  },
});

describe('a shopper', () => {
  test('types a card and the shop gets a token', () =>
    during({}, async (one) => {
      const request = one.page.waitForRequest('**/v1/card_tokens');
      await one.typeCard();
      assert.equal(await one.value('number'), '4000 1234 5678 9017');
      assert.equal(await one.frame.locator('#brand').getAttribute('aria-label'), 'Visa');
      const { token } = await one.pay();
      const year = 2000 + Number(card.expiry.slice(2));
      assert.match(token?.id ?? '', /^cct_/);
      assert.deepEqual(token?.card, { brand: 'visa', last4: '9017', exp_month: 11, exp_year: year });
      assert.ok(token?.expires_at);
      const sent = await request;
      assert.deepEqual(sent.postDataJSON(), {
        card: { number: card.number, exp_month: '11', exp_year: String(year), cvc: card.cvc },
      });
      assert.equal(await sent.headerValue('authorization'), `Bearer ${service.publishableKey}`);
      assert.equal(await sent.headerValue('cookie'), null);
      assert.equal(await sent.headerValue('origin'), service.baseUrl);
      assert.deepEqual(one.complaints, []);
    }));

  test('saves a card: the shop’s server attaches the token to a customer', () =>
    during({}, async (one) => {
      await one.typeCard();
      const { token } = await one.pay();
      const key = service.secretKey;
      const customer = await service.call('POST', '/v1/customers', { key, body: someCustomer() });
      const path = `/v1/customers/${customer.body.id}/payment_methods`;
      const attached = await service.call('POST', path, { key, body: { card_token: token?.id } });
      assert.equal(attached.status, 201, attached.text);
      assert.equal(attached.body.card.last4, '9017');
      const again = await service.call('POST', path, { key, body: { card_token: token?.id } });
      assert.equal(again.body.error.param, 'card_token');
    }));

  test('is moved to the next field when one is complete, and back by Backspace in an empty one', () =>
    during({}, async (one) => {
      await one.frame.locator('#number').focus();
      await one.page.keyboard.type(card.number);
      assert.equal(await one.focused(), 'expiry');
      await one.page.keyboard.type(card.expiry);
      assert.equal(await one.focused(), 'cvc');
      await one.page.keyboard.type('7');
      await one.page.keyboard.press('Backspace');
      assert.equal(await one.focused(), 'cvc');
      await one.page.keyboard.press('Backspace');
      assert.equal(await one.focused(), 'expiry');
      assert.equal(await one.value('expiry'), formatExpiry(card.expiry));
      for (let press = 0; press < 5; press += 1) await one.page.keyboard.press('Backspace');
      assert.equal(await one.focused(), 'number');
      assert.equal(await one.value('expiry'), '');
      assert.equal(await one.value('number'), '4000 1234 5678 9017');
    }));

  test('needs nothing but the keyboard: Tab through the fields, Enter to pay', () =>
    during({}, async (one) => {
      await one.page.focus('#name');
      await one.page.keyboard.press('Tab');
      assert.equal(await one.focused(), 'number');
      await one.page.keyboard.type(`${card.number}${card.expiry}`);
      await one.page.keyboard.press('Shift+Tab');
      await one.page.keyboard.press('Shift+Tab');
      assert.equal(await one.focused(), 'number');
      const outline = String(await one.frame.evaluate("getComputedStyle(document.querySelector('.number')).outline"));
      assert.match(outline, /solid 2px/);
      await one.page.keyboard.press('Tab');
      await one.page.keyboard.press('Tab');
      await one.page.keyboard.type(card.cvc);
      await one.page.keyboard.press('Enter');
      await until(one.page, 'outcomes.length === 1');
      assert.ok(await one.page.evaluate('outcomes[0].token.id'));
      assert.equal(await one.page.evaluate('submits'), 1);
      await one.page.keyboard.press('Tab');
      assert.equal(await one.page.evaluate('document.activeElement.id'), 'pay');
    }));

  test('edits in the middle of a number', () =>
    during({}, async (one) => {
      await one.frame.locator('#number').pressSequentially('40001234567890');
      for (let press = 0; press < 7; press += 1) await one.page.keyboard.press('ArrowLeft');
      assert.equal(await one.caret('number'), 10);
      await one.page.keyboard.press('Backspace');
      assert.equal(await one.value('number'), '4000 1235 6789 0');
      assert.equal(await one.caret('number'), 8);
      await one.page.keyboard.type('4');
      assert.equal(await one.value('number'), '4000 1234 5678 90');
      assert.equal(await one.caret('number'), 10);
    }));

  test('pastes a number as it is printed', () =>
    inContext({ permissions: ['clipboard-read', 'clipboard-write'] }, (own) =>
      during({ in: own }, async (one) => {
        await one.frame.locator('#number').focus();
        await paste(one.page, ' 4000-1234-5678-9017 ');
        assert.equal(await one.value('number'), '4000 1234 5678 9017');
        assert.equal(await one.focused(), 'expiry');
        await paste(one.page, '11/2031');
        assert.equal(await one.value('expiry'), '11 / 31');
        assert.equal(await one.focused(), 'cvc');
      }),
    ));

  async function paste(page: Page, text: string): Promise<void> {
    await page.evaluate(`navigator.clipboard.writeText('${text}')`);
    await page.keyboard.press('Control+v');
  }

  test('types an American Express card as it is printed, with a code of four digits', () =>
    during({ key: service.livePublishableKey }, async (one) => {
      await one.typeCard({ number: '378282246310005', cvc: '12345' });
      assert.equal(await one.value('number'), '3782 822463 10005');
      assert.equal(await one.value('cvc'), '1234');
      assert.equal(await one.frame.locator('#cvc').getAttribute('placeholder'), '1234');
      assert.equal(await one.frame.locator('#brand').getAttribute('aria-label'), 'American Express');
      assert.equal((await one.pay()).token?.card.last4, '0005');
    }));

  test('lets the browser fill the card in', () =>
    during({}, async (one) => {
      const hints = await one.frame.evaluate(
        "[...document.querySelectorAll('input')].map((input) => [input.autocomplete, input.inputMode])",
      );
      assert.deepEqual(hints, [
        ['cc-number', 'numeric'],
        ['cc-exp', 'numeric'],
        ['cc-csc', 'numeric'],
      ]);
      // What autofill does: sets the value and sends an event without an input type, outside the focused field.
      await one.frame.evaluate(`for (const [id, value] of [['number', '${card.number}'], ['expiry', '11/2031'], ['cvc', '738']]) {
        const input = document.getElementById(id);
        input.value = value;
        input.dispatchEvent(new Event('input', { bubbles: true }));
      }`);
      assert.equal(await one.value('number'), '4000 1234 5678 9017');
      assert.equal(await one.value('expiry'), '11 / 31');
      await until(one.page, 'changes.at(-1).complete');
    }));

  test('sees the error beside its field, and a screen reader announces it', () =>
    during({}, async (one) => {
      await one.frame.locator('#number').pressSequentially('4000 12');
      await one.page.keyboard.press('Tab');
      const number = one.frame.locator('#number');
      assert.equal(await one.text('number-error-text'), 'The card number is incomplete.');
      assert.equal(await one.frame.locator('#number-error').isVisible(), true);
      assert.equal(await number.getAttribute('aria-invalid'), 'true');
      assert.equal(await number.getAttribute('aria-describedby'), 'number-error-text');
      assert.equal(await one.frame.locator('[role=alert] #number-error').count(), 1);
      await number.pressSequentially('3');
      assert.equal(await one.frame.locator('#number-error').isVisible(), false);
      assert.equal(await number.getAttribute('aria-invalid'), 'false');
      assert.equal(await number.getAttribute('aria-describedby'), null);
    }));

  test('who leaves a wrong field by pressing the button below does press it: the message moves nothing', () =>
    during({}, async (one) => {
      await one.frame.locator('#number').pressSequentially('4000 12');
      const before = await one.page.locator('#pay').boundingBox();
      await one.press('#pay', async () => {
        assert.equal(await one.text('number-error-text'), 'The card number is incomplete.');
        assert.deepEqual(await one.page.locator('#pay').boundingBox(), before);
      });
      await until(one.page, 'submits === 1');
    }));

  test('can press the button although a message needs more room than is reserved: it appears after the click', () =>
    during({}, async (one) => {
      await one.frame.locator('#number').pressSequentially('4000 12');
      await one.frame.locator('#expiry').pressSequentially('1');
      await one.frame.locator('#cvc').pressSequentially('7');
      const before = await one.page.locator('#pay').boundingBox();
      await one.press('#pay', async () => {
        assert.equal(await one.text('cvc-error-text'), 'The CVC is incomplete.');
        assert.deepEqual(await one.page.locator('#pay').boundingBox(), before);
      });
      await until(one.page, 'submits === 1');
      const frameBottom = "document.querySelector('iframe').getBoundingClientRect().bottom";
      await until(one.page, `document.getElementById('pay').getBoundingClientRect().top > ${before?.y}`);
      const lines = Number(
        await one.frame.evaluate("document.querySelector('.errors').getBoundingClientRect().bottom"),
      );
      const frameTop = (await one.page.locator('iframe').boundingBox())?.y ?? 0;
      assert.ok(frameTop + lines <= Number(await one.page.evaluate(frameBottom)), 'all the messages can be read');
    }));

  test('is not scolded for a field that was only passed', () =>
    during({}, async (one) => {
      await one.frame.locator('#number').focus();
      await one.page.keyboard.press('Tab');
      await one.page.keyboard.press('Tab');
      assert.equal(await one.frame.locator('.error:visible').count(), 0);
    }));

  test('who pays without a card sees all that is missing, and nothing is sent', () =>
    during({}, async (one) => {
      const requests = countTokenRequests(one.page);
      const { error } = await one.pay();
      assert.equal(error?.name, 'SvcError');
      assert.equal(error?.code, 'validation_error');
      assert.equal(error?.param, 'card.number');
      assert.deepEqual(
        error?.field_errors.map(({ field, code }) => [field, code]),
        [
          ['card.number', 'required_field'],
          ['card.exp_month', 'required_field'],
          ['card.cvc', 'required_field'],
        ],
      );
      assert.deepEqual(await one.frame.locator('.error:visible').allInnerTexts(), [
        'Enter the card number.',
        'Enter the expiry date.',
        'Enter the CVC.',
      ]);
      assert.equal(await one.focused(), 'number');
      assert.equal(requests(), 0);
    }));

  test('whose card has expired sees an error', () =>
    during({}, async (one) => {
      await one.typeCard({ expiry: '0124' });
      assert.equal(await one.text('expiry-error-text'), 'This card has expired.');
      const { error } = await one.pay();
      assert.deepEqual(
        error?.field_errors.map(({ field, code }) => [field, code]),
        [['card.exp_month', 'invalid_value']],
      );
      await one.frame.locator('#expiry').fill('1399');
      await one.page.keyboard.press('Tab');
      assert.equal(await one.text('expiry-error-text'), 'The month must be from 01 to 12.');
    }));

  test('with a mistyped number sees an error before anything is sent, in live mode', () =>
    during({ key: service.livePublishableKey }, async (one) => {
      const requests = countTokenRequests(one.page);
      await one.typeCard({ number: '4000123456789010' });
      assert.equal(await one.text('number-error-text'), 'This card number is not valid.');
      assert.equal((await one.pay()).error?.param, 'card.number');
      assert.equal(requests(), 0);
    }));
});

function countTokenRequests(page: Page): () => number {
  let count = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('/v1/card_tokens')) count += 1;
  });
  return () => count;
}

describe('an answer of the service', () => {
  test('a wrong field is shown beside its input, and the shop gets the whole error', () =>
    during({}, async (one) => {
      const fieldErrors = [
        { field: 'card.exp_year', code: 'invalid_value', message: 'The card has expired by the shop’s clock.' },
        { field: 'card.cvc', code: 'invalid_format', message: 'Must be 3 digits.' },
      ];
      await answerTokens(one.page, (route) => route.fulfill(errorAnswer(400, 'validation_error', fieldErrors)));
      await one.typeCard();
      const { error } = await one.pay();
      assert.deepEqual(error, {
        name: 'SvcError',
        code: 'validation_error',
        message: 'The service says validation_error.',
        param: null,
        field_errors: fieldErrors,
        request_id: 'req_test',
        retry_after: null,
      });
      assert.equal(await one.text('expiry-error-text'), 'The card has expired by the shop’s clock.');
      assert.equal(await one.text('cvc-error-text'), 'Must be 3 digits.');
      assert.equal(await one.frame.locator('#expiry').getAttribute('aria-invalid'), 'true');
      assert.equal(await one.focused(), 'expiry');
      await one.page.unroute('**/v1/card_tokens');
      await one.frame.locator('#expiry').fill(card.expiry);
      assert.ok((await one.pay()).token);
      assert.equal(await one.frame.locator('.error:visible').count(), 0);
    }));

  const refusals: [status: number, code: string, text: string][] = [
    [429, 'rate_limit_exceeded', 'Too many attempts. Try again in 7 seconds.'],
    [401, 'invalid_api_key', 'Cards cannot be accepted here at the moment.'],
    [403, 'ip_not_allowed', 'Cards cannot be accepted here at the moment.'],
    [400, 'invalid_request', 'This card could not be accepted. Check the details or use another card.'],
    [503, 'service_unavailable', 'The connection failed. Please try again.'],
  ];
  test('a rejection is shown to the shopper in plain words, and the shop gets its code', () =>
    during({}, async (one) => {
      await one.typeCard();
      for (const [status, code, text] of refusals) {
        await answerTokens(one.page, (route) => route.fulfill(errorAnswer(status, code, [], { 'retry-after': '7' })));
        const { error } = await one.pay();
        assert.equal(error?.code, code);
        assert.equal(error?.request_id, 'req_test');
        assert.equal(error?.retry_after, 7);
        assert.equal(await one.frame.locator('[role=alert] .error:visible').innerText(), text);
        await one.page.unroute('**/v1/card_tokens');
      }
    }));

  test('no answer, or one that is not ours, can be tried again', () =>
    during({}, async (one) => {
      await one.typeCard();
      await answerTokens(one.page, (route) => route.abort());
      assert.equal((await one.pay()).error?.code, 'connection_failed');
      await one.page.unroute('**/v1/card_tokens');
      await answerTokens(one.page, (route) => route.fulfill({ status: 502, body: '<html>Bad gateway</html>' }));
      assert.equal((await one.pay()).error?.code, 'connection_failed');
      assert.equal(await one.text('general-error-text'), 'The connection failed. Please try again.');
      await one.page.unroute('**/v1/card_tokens');
      assert.ok((await one.pay()).token);
      assert.equal(await one.frame.locator('#general-error').isVisible(), false);
    }));

  test('paying twice asks for one token', () =>
    during({}, async (one) => {
      const requests = countTokenRequests(one.page);
      const looked = Promise.withResolvers<void>();
      await answerTokens(one.page, async (route) => {
        await looked.promise;
        await route.continue();
      });
      await one.typeCard();
      await one.page.evaluate('void Promise.all([pay(), pay()])');
      await one.page.click('#pay');
      assert.equal(await one.frame.locator('#form').getAttribute('aria-busy'), 'true');
      assert.equal(await one.frame.locator('#number').getAttribute('readonly'), '');
      looked.resolve();
      await until(one.page, 'outcomes.length === 3');
      assert.equal(requests(), 1);
      assert.equal(await one.page.evaluate('new Set(outcomes.map(({ token }) => token.id)).size'), 1);
      assert.equal(await one.frame.locator('#form').getAttribute('aria-busy'), 'false');
    }));

  test('billing details are passed on', () =>
    during({}, async (one) => {
      await one.typeCard();
      const request = one.page.waitForRequest('**/v1/card_tokens');
      await one.page.evaluate("void pay({ billing_details: { name: 'Ada', address: { country: 'GB' } } })");
      const sent = (await request).postDataJSON() as { billing_details: object };
      assert.deepEqual(sent.billing_details, { name: 'Ada', address: { country: 'GB' } });
    }));
});

describe('the look', () => {
  const style = (one: Visit, selector: string, property: string): Promise<unknown> =>
    one.frame.evaluate(`getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${property}')`);

  test('another language and writing direction', () =>
    during({ dir: 'rtl', options: { texts: foreignTexts, language: 'he' } }, async (one) => {
      assert.equal(await one.frame.locator('html').getAttribute('dir'), 'rtl');
      assert.equal(await one.frame.locator('html').getAttribute('lang'), 'he');
      assert.equal(await one.text('number-label'), foreignTexts.number);
      assert.equal(await one.page.locator('iframe').getAttribute('title'), foreignTexts.title);
      const numberBox = await one.frame.locator('.number').boundingBox();
      const cvcBox = await one.frame.locator('.cvc').boundingBox();
      assert.ok(numberBox && cvcBox && numberBox.x > cvcBox.x, 'the number is at the right');
      await one.frame.locator('#number').pressSequentially('٤٠٠٠12');
      assert.equal(await one.value('number'), '4000 12');
      assert.equal(await style(one, '#number', 'direction'), 'ltr');
      assert.equal(await style(one, '#number', 'text-align'), 'right');
      await one.page.keyboard.press('Tab');
      assert.equal(await one.text('number-error-text'), foreignTexts.numberIncomplete);
    }));

  test('a theme changes colours, font and corners', () => {
    const theme = {
      colors: { text: 'rgb(10, 20, 30)', background: 'rgb(250, 250, 200)', focus: 'rgb(0, 128, 0)' },
      fontFamily: 'Georgia, serif',
      fontSize: '20px',
      radius: '0px',
    };
    return during({ options: { theme } }, async (one) => {
      await one.frame.locator('#number').focus();
      assert.equal(await style(one, '#number', 'color'), theme.colors.text);
      assert.equal(await style(one, '.number', 'background-color'), theme.colors.background);
      assert.equal(await style(one, '.number', 'outline-color'), theme.colors.focus);
      assert.equal(await style(one, '#number', 'font-family'), theme.fontFamily);
      assert.equal(await style(one, '#number', 'font-size'), theme.fontSize);
      assert.equal(await style(one, '.number', 'border-top-left-radius'), theme.radius);
    });
  });

  test('dark by choice, or as the system is', async () => {
    const darkText = 'rgb(233, 236, 242)';
    await during({ options: { theme: { mode: 'dark' } } }, async (one) => {
      assert.equal(await style(one, '#number', 'color'), darkText);
      assert.equal(await style(one, 'html', 'color-scheme'), 'dark');
      assert.equal(await one.page.evaluate("getComputedStyle(document.querySelector('iframe')).colorScheme"), 'dark');
    });
    await inContext({ colorScheme: 'dark' }, async (own) => {
      const colorWith = async (mode: string): Promise<unknown> => {
        let color: unknown;
        await during({ in: own, options: { theme: { mode } } }, async (one) => {
          color = await style(one, '#number', 'color');
        });
        return color;
      };
      assert.equal(await colorWith('auto'), darkText);
      assert.notEqual(await colorWith('light'), darkText);
    });
  });

  test('one row where there is room, two on a screen of 320 pixels', () =>
    during({}, async (one) => {
      const top = async (selector: string): Promise<number> =>
        (await one.frame.locator(selector).boundingBox())?.y ?? -1;
      assert.equal(await top('.number'), await top('.cvc'));
      await one.page.setViewportSize({ width: 320, height: 500 });
      await until(one.page, "document.querySelector('iframe').offsetHeight > 100");
      assert.ok((await top('.expiry')) > (await top('.number')));
      assert.equal(await top('.expiry'), await top('.cvc'));
      await one.typeCard({ number: '4000123456789017' });
      const clipped = await one.frame.evaluate(
        "[...document.querySelectorAll('input')].filter((input) => input.scrollWidth > input.clientWidth).length",
      );
      assert.equal(clipped, 0);
      assert.ok(Number(await one.page.evaluate('document.documentElement.scrollWidth')) <= 320);
    }));

  for (const mode of ['light', 'dark'] as const) {
    test(`axe finds nothing to mend in the ${mode} theme, be it empty, filled or wrong`, () =>
      during({ options: { theme: { mode } } }, async (one) => {
        const dark = "Object.assign(document.body.style, { background: '#0f1216', color: 'white' })";
        // The frame too: axe does not see the page's background through it.
        if (mode === 'dark') for (const where of [one.page, one.frame]) await where.evaluate(dark);
        assert.deepEqual(await violations(one.page), [], 'empty');
        await one.typeCard();
        assert.deepEqual(await violations(one.page), [], 'filled');
        await one.page.evaluate('card.clear()');
        await one.frame.locator('#number').pressSequentially('4000');
        await one.pay();
        assert.deepEqual(await violations(one.page), [], 'wrong');
      }));
  }
});
