/** The top-up webhook: which messages it accepts, and that it credits each once. */
import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { openSecret, type RouteReply } from '../../core/index.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import type { Credit, Store } from '../../plugins/meters/balance/store.ts';
import { checkSignature, createTopUpRoute } from '../../plugins/meters/balance/top-ups.ts';
import { callRoute } from '../support/host.ts';
import { buildStore } from './calls.ts';

const secret = 'a shared secret of enough characters';
const options = { secret, path: '/webhooks/top-up', tolerance: 300 };
const body = JSON.stringify({ account: 'someone', amount: '5', reference: 'payment-1' });
const seconds = 1_790_000_000;

function sign(text: string, time: number | string = seconds, key = secret): string {
  return `t=${time},v1=${createHmac('sha256', key).update(`${time}.${text}`).digest('hex')}`;
}

const check =
  (header: unknown, text = body, now = seconds) =>
  () =>
    checkSignature(header, text, options, now * 1000);

it('a signature is valid for its time and body, within the tolerance', () => {
  expect(check(sign(body))).not.toThrow();
  expect(check(sign(body), body, seconds + 300)).not.toThrow();
  expect(check(sign(body), body, seconds - 300)).not.toThrow();
});

it('a signature may be one of several, while the sender changes its secret', () => {
  const other = sign(body, seconds, 'the secret that was shared before it').replace(/^t=\d+,/, '');
  expect(check(`${sign(body)},${other}`)).not.toThrow();
  expect(check(`t=${seconds},${other},${sign(body).replace(/^t=\d+,/, '')}`)).not.toThrow();
  expect(check(`t=${seconds},${other}`)).toThrow('does not sign');
});

it('a signature is refused when it is too old, or from the future', () => {
  expect(check(sign(body), body, seconds + 301)).toThrow('more than 300 seconds');
  expect(check(sign(body), body, seconds - 301)).toThrow('more than 300 seconds');
});

it.each([
  ['none', undefined],
  ['several headers', [sign(body), sign(body)]],
  ['an empty one', ''],
  ['no time', sign(body).replace(/^t=\d+,/, '')],
  ['another time', sign(body).replace(/^t=\d+/, `t=${seconds + 1}`)],
  ['another body', sign(`${body} `)],
  ['another secret', sign(body, seconds, `${secret}.`)],
  ['the empty secret', sign(body, seconds, '')],
  ['no signature', `t=${seconds}`],
  ['half a signature', sign(body).slice(0, -2)],
  ['no time signed as such', sign(body, '')],
])('a signature is refused: %s', (_, header) => {
  expect(check(header)).toThrow(expect.objectContaining({ code: 'forbidden' }));
});

const credits: Credit[] = [];
const credited: Partial<Store> = {
  async addCredit(credit) {
    if (credit.account === 'unknown') return 'not_found';
    const before = credits.find(({ reference }) => reference === credit.reference);
    if (before)
      return before.amount === credit.amount && before.account === credit.account
        ? 'already_credited'
        : 'reference_taken';
    credits.push(credit);
    return 'credited';
  },
  readBalance: async () => ({
    total: credits.reduce((sum, { amount }) => sum + amount, 0n),
    used: 0n,
    pending: 0n,
  }),
};
const route = createTopUpRoute({ openSecret }, options, () => buildStore(credited));

function post(text: string, header = sign(text, Math.floor(Date.now() / 1000))): Promise<RouteReply> {
  const headers = { 'tollgate-signature': header };
  return callRoute(route, { headers, body: JSON.parse(text), text });
}

it('the webhook credits an account, and only once if the message is repeated', async () => {
  const replies = await Promise.all(Array.from({ length: 100 }, () => post(body)));
  expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 100 }, () => 200));
  expect(credits).toMatchObject([
    { account: 'someone', amount: 5_000_000_000n, kind: 'top-up', reference: 'payment-1' },
  ]);
  expect(replies.at(-1)?.body).toEqual({
    status: 'already_credited',
    account: 'someone',
    reference: 'payment-1',
    total: '5',
  });
});

it.each<[string, object, number]>([
  [
    'another amount under the same reference',
    { account: 'someone', amount: '6', reference: 'payment-1' },
    409,
  ],
  ['an account there is not', { account: 'unknown', amount: '5', reference: 'payment-2' }, 404],
  ['no reference', { account: 'someone', amount: '5' }, 400],
  ['an amount below zero', { account: 'someone', amount: '-5', reference: 'payment-3' }, 400],
  ['an amount as a number', { account: 'someone', amount: 5, reference: 'payment-4' }, 400],
  ['an unknown field', { account: 'someone', amount: '5', reference: 'payment-5', total: '500' }, 400],
])('the webhook refuses %s and credits nothing', async (_, message, status) => {
  const before = credits.length;
  expect((await post(JSON.stringify(message))).status).toBe(status);
  expect(credits).toHaveLength(before);
});

it('the webhook refuses an unsigned message before it reads the body', async () => {
  expect(await post('{"account":1}', 'forged')).toMatchObject({
    status: 403,
    body: { error: { code: 'forbidden', param: null } },
  });
});

it.each(['', ' '.repeat(40), 'short'])('a secret %j keeps the gateway from starting', (wrong) => {
  expect(() => balance({ topUps: { secret: wrong } })).toThrow(
    /option "topUps\.secret": the secret has to have at least 32 characters/,
  );
});
