import Type from 'typebox';
import { checkOf } from '../../../platform/schema-check.ts';
import { type Answer, jsonOf, type Silence } from '../exchange.ts';
import type { ConnectionTest } from '../processor.ts';
import { errorOf } from './answers.ts';
import { unknownCodeRule } from './codes.ts';

const paymentMethodsAnswer = checkOf(Type.Object({ paymentMethods: Type.Array(Type.Object({})) }));

export function connectionTestOf(answer: Answer | Silence, account: string, livemode: boolean): ConnectionTest {
  const fails = (problem: string): ConnectionTest => ({ outcome: 'fails', problem });
  if ('reason' in answer) {
    return fails(`Adyen cannot be reached: ${answer.reason}. Check the live URL prefix: Developers, API URLs.`);
  }
  const { status } = answer;
  if (status === 200 && paymentMethodsAnswer.Check(jsonOf(answer))) {
    return { outcome: 'works', account, accountId: account, advice: unknownCodeRule, livemode };
  }
  if (status === 401 && !livemode) {
    return fails(
      'The test environment of Adyen does not accept the API key. For a key of the live environment, enter the live URL prefix.',
    );
  }
  if (status === 401) {
    return fails(
      'Adyen does not accept the API key. Enter the current key of an API credential, from the same environment.',
    );
  }
  if (status === 403 || errorOf(answer, undefined)?.errorCode === '901') {
    return fails(
      'The API key may not use this merchant account. Enter the account name as it is in the Customer Area.',
    );
  }
  return fails(`Adyen answered with status ${status}. Try again later.`);
}
