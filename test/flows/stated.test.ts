/** A repository's orders over HTTP: statuses, fields that do not exist, and the log of actions. */
import { expect, it } from 'vitest';
import { callAdmin, fetchStatus, made, openGateway } from './operator-calls.ts';

openGateway();

it('PUT answers 201 for what is new, 200 for what is known, and only a change is an action', async () => {
  const order = { account: 'acme', limits: { models: ['demo/*'] } };
  const first = await callAdmin('PUT', '/keys/ci', order);
  expect([first.status, first.body]).toMatchObject([201, { made: true, changed: true }]);
  const { key, id } = made.parse(first.body);
  await callAdmin('POST', '/credits', { account: 'acme', amount: '1' });
  expect(await fetchStatus(key)).toBe(200);
  const again = await callAdmin('PUT', '/keys/ci', order);
  expect([again.status, again.body]).toEqual([
    200,
    { kind: 'key', name: 'ci', id, made: false, changed: false, dryRun: false, changes: [] },
  ]);
  const dry = await callAdmin('PUT', '/accounts/new', { dryRun: true });
  expect([dry.status, dry.body]).toMatchObject([200, { made: true, dryRun: true }]);
  expect((await callAdmin('GET', '/accounts/new')).status).toBe(404);
  const budget = '/budgets/account:acme:month';
  expect((await callAdmin('PUT', budget, { limit: '10' })).status).toBe(201);
  expect(await callAdmin('PUT', budget, { limit: '12' })).toMatchObject({
    status: 200,
    body: { changed: true },
  });
  expect(await callAdmin('GET', budget)).toMatchObject({ status: 200, body: { limit: '12', per: 'month' } });
  const { body } = await callAdmin('GET', '/actions');
  const actions = JSON.stringify(body).match(/"action":"PUT [^"]+"/g);
  expect(actions?.map((action) => action.split(' ')[1])).toEqual([
    '/admin/budgets/:budget"',
    '/admin/budgets/:budget"',
    '/admin/keys/:key"',
  ]);
});

it.each([
  ['/accounts/x', { credit: '5' }, 'credit'],
  ['/accounts/a%20b', {}, 'named by'],
  ['/accounts/x', { allowance: { amount: '5', each: 'day' } }, 'each'],
  ['/accounts/x', { state: 'gone' }, 'state'],
  ['/keys/x', { limits: {} }, 'account'],
  ['/keys/x', { account: 'acme', kind: 'operator' }, 'kind'],
  ['/keys/x', { account: 'acme', secret: 'sk-mine' }, 'secret'],
  ['/keys/x', { account: 'acme', limits: { models: ['nope/*'] } }, 'limits.models'],
  ['/budgets/team:x:month', {}, 'limit'],
  ['/budgets/team:x:year', { limit: '1' }, 'budget'],
  ['/budgets/team:x:month', { limit: '1', scope: 'team' }, 'scope'],
])('PUT %s %j is refused by the name of what is wrong', async (path, body, word) => {
  const { status, text } = await callAdmin('PUT', path, body);
  expect([status, text]).toEqual([400, expect.stringContaining(word)]);
});
