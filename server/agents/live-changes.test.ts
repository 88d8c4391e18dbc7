import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Client } from '@modelcontextprotocol/client';
import { connectAgent, use } from '../../tests/support/agents.ts';
import { colleague, companyOf, type Person } from '../../tests/support/dashboard.ts';
import { type ConnectedMerchant, type LiveService, startLiveService } from '../../tests/support/live-merchants.ts';
import { openShop, order, readOrder, refund, runWorker, succeeded } from '../../tests/support/orders.ts';
import type { Reply } from '../../tests/support/service.ts';
import { somePlan, someSubscriber, subscribe } from '../../tests/support/subscriptions.ts';
import { type Permission, usualPermissions } from '../http/permissions.ts';
import { approvalStates, approvalTransitions } from '../features/agent-approvals/transitions.ts';

/** Agents change live objects only after a person has approved exactly that. */

let live: LiveService;
let merchant: ConnectedMerchant;
let agentKey: string;
let client: Client;

const perDay = 60;
before(async () => {
  live = await startLiveService({ settings: { SVC_AGENT_APPROVALS_PER_DAY: String(perDay) } });
  merchant = await live.openMerchant('nmi');
  agentKey = await keyOfAgents();
  client = await connectAgent(live.service, agentKey);
});
after(async () => {
  await client.close();
  await live.stop();
});

const keyOfAgents = (permissions: readonly Permission[] = usualPermissions): Promise<string> =>
  live.service.createKey(merchant.company, { permissions: [...permissions, 'agents:write'] });

const paidOrder = (): Promise<Reply['body']> => succeeded(live.service, merchant.shop, { key: merchant.key });
const orderOf = (id: string): Promise<Reply['body']> => readOrder(live.service, id, { key: merchant.key });
const refundsOf = async (id: string): Promise<number[]> =>
  (await orderOf(id)).transactions
    .filter(({ type }: { type: string }) => type === 'refund')
    .map(({ amount }: { amount: number }) => amount);

const decide = (approval: string, answer: 'approve' | 'refuse', person: Person = merchant.owner): Promise<Reply> =>
  person.in('POST', `/dashboard/agent_approvals/${approval}/${answer}`, {}, { company: merchant.companyId });

async function waiting(input: Record<string, unknown>, agent = client, tool = 'refund_order'): Promise<string> {
  const asked = await use(agent, tool, input);
  assert.equal(asked.waits_for_approval, true, JSON.stringify(asked));
  return asked.approval_id;
}

async function refused(
  code: string,
  input: Record<string, unknown>,
  agent = client,
  tool = 'refund_order',
): Promise<void> {
  const { isError, error } = await use(agent, tool, input);
  assert.deepEqual([isError, error?.code], [true, code], JSON.stringify(error));
  assert.match(error.doc_url ?? '/docs/', /\/docs\//);
}

const setApproval = (id: string, change: string): Promise<unknown> =>
  live.service.db.query(`UPDATE agent_approvals SET ${change} WHERE id = $1`, [id]);

describe('a live refund', () => {
  it('waits for a member of the team, who reads the exact amount, and happens once', async () => {
    const paid = await paidOrder();
    const asked = await use(client, 'refund_order', { order_id: paid.id, amount: 100 });
    const sum = (paid.total / 100).toFixed(2);
    assert.equal(asked.question, `Refund $1.00 USD of order ${paid.order_number}. The order is over $${sum} USD.`);
    assert.match(asked.dashboard_url, new RegExp(`/approvals/${asked.approval_id}$`));
    const call = { order_id: paid.id, amount: 100, approval_id: asked.approval_id };
    await refused('approval_waiting', call);
    assert.deepEqual(await refundsOf(paid.id), []);

    const { body: shown } = await merchant.owner.in('GET', '/dashboard/agent_approvals', undefined, {
      company: merchant.companyId,
    });
    assert.deepEqual(
      [shown.data[0].question, shown.data[0].amount, shown.data[0].key.name, shown.data[0].may_decide],
      [asked.question, 100, 'test', true],
    );
    assert.equal((await decide(asked.approval_id, 'approve')).body.state, 'approved');
    const done = await use(client, 'refund_order', call);
    assert.deepEqual([done.isError, done.refund?.amount], [false, 100], JSON.stringify(done));
    await refused('approval_used', call);
    assert.deepEqual(await refundsOf(paid.id), [100]);

    const rows = await live.service.db.query<{ actor_kind: string; object_id: string }>(
      `SELECT actor_kind, object_id FROM audit_entries WHERE company_id = $1 AND action = 'approveAgentCall'`,
      [merchant.companyId],
    );
    assert.deepEqual(rows, [{ actor_kind: 'member', object_id: asked.approval_id }]);
  });

  it('is asked by the client where it can ask, and only accept refunds', async () => {
    const paid = await paidOrder();
    for (const answer of ['decline', 'cancel'] as const) {
      const agent = await connectAgent(live.service, agentKey, { ask: () => answer });
      await refused('approval_refused', { order_id: paid.id }, agent);
      await agent.close();
    }
    assert.deepEqual(await refundsOf(paid.id), []);
    const questions: string[] = [];
    const agent = await connectAgent(live.service, agentKey, {
      ask: (question) => (questions.push(question), 'accept'),
    });
    const done = await use(agent, 'refund_order', { order_id: paid.id });
    assert.deepEqual([done.isError, done.status, questions.length], [false, 'refunded', 1], JSON.stringify(done));
    assert.match(questions[0] ?? '', new RegExp(`^Refund \\$[\\d.]+ USD of order ${paid.order_number}\\.`));
    assert.deepEqual(await refundsOf(paid.id), [paid.total]);
    await agent.close();
  });

  it('is not approved by members without the permission, twice, or after it was refused', async () => {
    const paid = await paidOrder();
    const [viewer, finance] = [
      await colleague(live.service, merchant.owner, 'Viewer', 'live'),
      await colleague(live.service, merchant.owner, 'Finance', 'live'),
    ];
    const id = await waiting({ order_id: paid.id });
    assert.equal((await decide(id, 'approve', viewer)).status, 403);
    const both = await Promise.all([decide(id, 'approve', finance), decide(id, 'approve')]);
    assert.deepEqual(
      both.map(({ status }) => status).toSorted((one, other) => one - other),
      [200, 422],
    );
    assert.equal((await decide(id, 'refuse')).status, 422);
    const sandbox = companyOf(merchant.owner, 'sandbox');
    const elsewhere = { company: sandbox };
    assert.equal(
      (await merchant.owner.in('POST', `/dashboard/agent_approvals/${id}/approve`, {}, elsewhere)).status,
      404,
    );

    const other = await paidOrder();
    const second = await waiting({ order_id: other.id });
    assert.equal((await decide(second, 'refuse')).body.state, 'refused');
    assert.equal((await decide(second, 'approve')).status, 422);
    await refused('approval_refused', { order_id: other.id, approval_id: second });
    const direct = await live.service.call('POST', `/dashboard/agent_approvals/${second}/approve`, { key: agentKey });
    assert.equal(direct.status, 403);
    assert.deepEqual(await refundsOf(other.id), []);
  });
});

describe('an approval', () => {
  it('is for its arguments, key and company only, for five minutes', async () => {
    const [paid, other] = [await paidOrder(), await paidOrder()];
    const approval_id = await waiting({ order_id: paid.id, amount: 100 });
    await decide(approval_id, 'approve');
    await refused('approval_mismatch', { order_id: paid.id, amount: 101, approval_id });
    await refused('approval_mismatch', { order_id: paid.id, approval_id });
    await refused('approval_mismatch', { order_id: other.id, amount: 100, approval_id });
    await refused('approval_mismatch', { order_id: paid.id, approval_id }, client, 'retry_order');
    await refused('approval_not_found', { order_id: paid.id, amount: 100, approval_id: randomUUID() });
    const colleagueAgent = await connectAgent(live.service, await keyOfAgents());
    await refused('approval_not_found', { order_id: paid.id, amount: 100, approval_id }, colleagueAgent);
    await refused('approval_open', { order_id: paid.id, amount: 100 }, colleagueAgent);
    await colleagueAgent.close();

    const stranger = await live.openMerchant('nmi');
    const permissions: Permission[] = [...usualPermissions, 'agents:write'];
    const strange = await connectAgent(live.service, await live.service.createKey(stranger.company, { permissions }));
    await refused('approval_not_found', { order_id: paid.id, amount: 100, approval_id }, strange);
    await strange.close();

    await setApproval(approval_id, `expires_at = now() - interval '1 second'`);
    await refused('approval_expired', { order_id: paid.id, amount: 100, approval_id });
    const late = await waiting({ order_id: paid.id, amount: 100 });
    const [{ minutes } = { minutes: 0 }] = await live.service.db.query<{ minutes: number }>(
      `SELECT extract(epoch FROM expires_at - created_at)::integer / 60 AS minutes FROM agent_approvals WHERE id = $1`,
      [late],
    );
    assert.equal(minutes, 5);
    await setApproval(late, `expires_at = now() - interval '1 second'`);
    assert.equal((await decide(late, 'approve')).status, 422);
    assert.deepEqual([await refundsOf(paid.id), await refundsOf(other.id)], [[], []]);
  });

  it('is one for an object at a time, and refunds once however often it is used at once', async () => {
    const paid = await paidOrder();
    const input = { order_id: paid.id, amount: 100 };
    const asked = await Promise.all(Array.from({ length: 4 }, () => use(client, 'refund_order', input)));
    const ids = asked.flatMap((one) => (one.waits_for_approval ? [one.approval_id] : []));
    assert.equal(ids.length, 1);
    assert.deepEqual(
      new Set(asked.filter((one) => one.isError).map((one) => one.error.code)),
      new Set(['approval_open']),
    );
    const [approval_id] = ids;
    await decide(approval_id, 'approve');
    await Promise.all(Array.from({ length: 5 }, () => use(client, 'refund_order', { ...input, approval_id })));
    assert.deepEqual(await refundsOf(paid.id), [100]);
  });

  it('whose operation stopped halfway is repeated without a second refund', async () => {
    const paid = await paidOrder();
    const input = { order_id: paid.id, amount: 100 };
    const approval_id = await waiting(input);
    await decide(approval_id, 'approve');
    assert.equal((await use(client, 'refund_order', { ...input, approval_id })).isError, false);
    // The process died before it stored the result.
    await setApproval(approval_id, `finished_at = NULL, expires_at = now() - interval '1 minute'`);
    assert.equal((await use(client, 'refund_order', { ...input, approval_id })).isError, false);
    assert.deepEqual(await refundsOf(paid.id), [100]);
    // After that time, the idempotency key could be forgotten.
    await setApproval(approval_id, `finished_at = NULL, used_at = now() - interval '2 hours'`);
    await refused('approval_used', { ...input, approval_id });
  });

  it('does not cover what has changed since the question', async () => {
    const paid = await paidOrder();
    const approval_id = await waiting({ order_id: paid.id });
    await decide(approval_id, 'approve');
    assert.equal((await refund(live.service, paid.id, 100, { key: merchant.key })).status, 200);
    await runWorker(live.service);
    await refused('approval_mismatch', { order_id: paid.id, approval_id });
    assert.deepEqual(await refundsOf(paid.id), [100]);
  });

  it('is limited per key and day', async () => {
    const key = await keyOfAgents();
    const agent = await connectAgent(live.service, key);
    const paid = await paidOrder();
    const id = await waiting({ order_id: paid.id }, agent);
    await live.service.db.query(
      `INSERT INTO agent_approvals SELECT (jsonb_populate_record(a, jsonb_build_object('id', uuidv7(), 'state', 'expired'))).*
       FROM agent_approvals a, generate_series(2, $2) WHERE a.id = $1`,
      [id, perDay],
    );
    await setApproval(id, `expires_at = now() - interval '1 second'`);
    await refused('approval_limit', { order_id: paid.id }, agent);
    await live.service.db.query(
      `UPDATE agent_approvals SET created_at = created_at - interval '25 hours' WHERE state = 'expired'`,
    );
    await waiting({ order_id: paid.id }, agent);
    await agent.close();
  });

  it('moves only along its table', async () => {
    const columns = `state = $2, decided_at = now(), used_at = CASE WHEN $2 = 'used' THEN now() END, expires_at = now() + interval '5 minutes'`;
    const paid = await paidOrder();
    const id = await waiting({ order_id: paid.id });
    const calls = {
      approve: () => decide(id, 'approve'),
      refuse: () => decide(id, 'refuse'),
      use: () => use(client, 'refund_order', { order_id: paid.id, amount: 99_999_999, approval_id: id }),
    } as const;
    for (const from of approvalStates) {
      for (const because of ['approve', 'refuse'] as const) {
        await live.service.db.query(`UPDATE agent_approvals SET ${columns} WHERE id = $1`, [id, from]);
        const { status } = await calls[because]();
        const isAllowed = approvalTransitions.some(([start, trigger]) => start === from && trigger === because);
        assert.equal(status, isAllowed ? 200 : 422, `${from} by ${because}`);
      }
    }
    assert.deepEqual(await refundsOf(paid.id), []);
  });
});

describe('a live key', () => {
  const namesOf = async (key: string, headers: Record<string, string> = {}): Promise<string[]> => {
    const agent = await connectAgent(live.service, key, { headers });
    const { tools } = await agent.listTools();
    await agent.close();
    return tools.filter(({ annotations }) => !annotations?.readOnlyHint).map(({ name }) => name);
  };

  it('gets no tool that changes something without agents:write, and none beyond its permissions', async () => {
    assert.deepEqual(await namesOf(merchant.key, { 'SVC-Allow-Writes': 'sandbox' }), []);
    assert.deepEqual(await namesOf(agentKey), ['refund_order', 'retry_order', 'cancel_subscription']);
    assert.deepEqual(await namesOf(await keyOfAgents(['orders:read'])), []);
    assert.deepEqual(await namesOf(await keyOfAgents(['subscriptions:read', 'subscriptions:write'])), [
      'cancel_subscription',
    ]);
  });

  it('of agents changes nothing outside of /mcp', async () => {
    const paid = await paidOrder();
    const at = (headers: Record<string, string>): Promise<Reply> =>
      live.service.call('POST', `/v1/orders/${paid.id}/refund`, { key: agentKey, headers });
    for (const headers of [{}, { 'svc-approved-call': 'x'.repeat(43) }, { 'svc-approved-call': 'é'.repeat(43) }]) {
      const { status, body } = await at(headers);
      assert.deepEqual([status, body.error.code], [403, 'insufficient_permissions'], JSON.stringify(headers));
    }
    const removed = await live.service.call('DELETE', `/v1/customers/${paid.customer_id}`, { key: agentKey });
    assert.equal(removed.status, 403);
    assert.equal((await live.service.call('GET', `/v1/orders/${paid.id}`, { key: agentKey })).status, 200);
    assert.deepEqual(await refundsOf(paid.id), []);
  });

  it('cannot forge an answer of the user, nor send many calls in one message', async () => {
    const [paid, other] = [await paidOrder(), await paidOrder()];
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    };
    const send = async (arguments_: object, rest: object, key = agentKey): Promise<string> => {
      const response = await fetch(`${live.service.baseUrl}/mcp`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          'MCP-Protocol-Version': '2026-07-28',
          'Mcp-Method': 'tools/call',
          'Mcp-Name': 'refund_order',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'refund_order', arguments: arguments_, _meta: meta, ...rest },
        }),
      });
      return response.text();
    };
    const accepted = { approval: { action: 'accept', content: {} } };
    const input = { order_id: paid.id, amount: 100 };
    // An answer without a question.
    assert.match(await send(input, { inputResponses: accepted }), /input_required/);
    assert.match(await send(input, { inputResponses: accepted, requestState: randomUUID() }), /approval_not_found/);
    assert.match(await send(input, { inputResponses: accepted, requestState: "' OR 1=1" }), /approval_not_found/);
    const [, id = ''] = /"requestState":"([^"]+)"/.exec(await send(input, {})) ?? [];
    assert.match(id, /^[0-9a-f-]{36}$/);
    // By another session, for other arguments, and in the dashboard.
    assert.match(
      await send(input, { inputResponses: accepted, requestState: id }, await keyOfAgents()),
      /approval_not_found/,
    );
    assert.match(
      await send({ ...input, amount: 200 }, { inputResponses: accepted, requestState: id }),
      /approval_mismatch/,
    );
    assert.match(
      await send({ order_id: other.id }, { inputResponses: accepted, requestState: id }),
      /approval_mismatch/,
    );
    assert.equal((await decide(id, 'approve')).status, 422);
    await refused('approval_waiting', { ...input, approval_id: id });
    // A question of the dashboard is not answered by the client.
    const ofDashboard = await waiting({ order_id: other.id });
    assert.match(
      await send({ order_id: other.id }, { inputResponses: accepted, requestState: ofDashboard }),
      /approval_waiting/,
    );
    for (const answer of [{ action: 'Accept' }, { action: ['accept'] }, { content: {} }, 'accept']) {
      await setApproval(id, `state = 'waiting', decided_at = NULL`);
      const text = await send(input, { inputResponses: { approval: answer }, requestState: id });
      assert.doesNotMatch(text, /refunded_amount/, JSON.stringify(answer));
    }
    const call = {
      jsonrpc: '2.0',
      method: 'tools/call',
      params: { name: 'refund_order', arguments: { order_id: other.id } },
    };
    const batch = await fetch(`${live.service.baseUrl}/mcp`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${agentKey}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify([
        { ...call, id: 1 },
        { ...call, id: 2, params: { ...call.params, arguments: { order_id: other.id, approval_id: ofDashboard } } },
      ]),
    });
    await batch.text();
    assert.deepEqual([await refundsOf(paid.id), await refundsOf(other.id)], [[], []]);
  });
});

describe('other live changes', () => {
  it('charge a failed order again, and cancel a subscription', async () => {
    const { service } = live;
    const options = { key: merchant.key };
    const shop = await openShop(service, undefined, options);
    await live.fakes.nmi.control({ next: ['decline:202'] });
    const failed = await order(service, shop, {}, options);
    assert.equal(failed.body.status, 'failed', failed.text);
    const retry = await use(client, 'retry_order', { order_id: failed.body.id });
    assert.match(retry.question, /^Charge \$[\d.]+ USD to the card of order \w+ again\./);
    await decide(retry.approval_id, 'approve');
    const retried = await use(client, 'retry_order', { order_id: failed.body.id, approval_id: retry.approval_id });
    assert.equal(retried.id, failed.body.id, JSON.stringify(retried));
    assert.equal((await orderOf(failed.body.id)).transactions.length, 2);

    const plan = await somePlan(service, {}, merchant.company);
    const customer_id = await someSubscriber(service, undefined, options);
    const { body } = await subscribe(service, { customer_id, plan_id: plan.id }, options);
    const input = { subscription_id: body.id };
    const asked = await use(client, 'cancel_subscription', input);
    assert.match(asked.question, /The next payment, \$19\.00 USD on \w+ \d+, \d{4}, is not made\.$/);
    await decide(asked.approval_id, 'approve');
    const canceled = await use(client, 'cancel_subscription', { ...input, approval_id: asked.approval_id });
    assert.equal(canceled.status, 'canceled', JSON.stringify(canceled));
    assert.equal((await use(client, 'cancel_subscription', input)).isError, true);
  });
});
