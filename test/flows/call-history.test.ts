/**
 * What the gateway stores of calls: lists, details, an overview, a statement, and what the holder of a key
 * can read.
 */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { formatDetails } from '../../plugins/meters/balance/operator/call-details.ts';
import { replies } from '../../plugins/shared/replies/routes.ts';
import {
  readAdmin,
  adminUrl,
  fetchWithKey,
  gateway,
  key,
  listIds,
  createKey,
  openHistory,
  secret,
  call,
} from './stored-calls.ts';

openHistory();

it('stored calls are listed as soon as they end, with their cost, without their content', async () => {
  const id = await call({ provider: { only: ['answering'] } });
  const refused = await call({ model: 'house/unknown' });
  const { data } = await readAdmin('/calls');
  expect(data?.map((row) => row.id)).toEqual([refused, id]);
  expect(data).toMatchObject([
    {
      outcome: 'refused',
      status: 404,
      error_code: 'model_not_found',
      model: 'house/unknown',
      provider: null,
      cost: '0',
    },
    {
      outcome: 'completed',
      status: 200,
      error_code: null,
      account: 'acme',
      key: key.id,
      model: 'house/model',
      answered_by: 'house/model',
      provider: 'answering',
      protocol: 'chat-completions',
      stream: false,
      input: 9,
      output: 3,
      cached: 4,
      uses: [
        { unit: 'cacheRead', count: 4 },
        { unit: 'input', count: 9 },
        { unit: 'output', count: 3 },
      ],
      attempts: 1,
      cost_basis: 'usage',
      tags: {},
    },
  ]);
  expect(JSON.stringify(await readAdmin(`/calls/${id}`))).not.toContain('SECRET');
});

it('stored calls show attempts, steps, the routing and the entries of a call', async () => {
  const id = await call({ provider: { ignore: ['demo'], order: ['failing', 'answering'] } });
  const only = await call({ provider: { ignore: ['failing'] } });
  const detail = await readAdmin(`/calls/${id}`);
  expect(detail).toMatchObject({
    id,
    object: 'call',
    account: 'acme',
    provider: 'answering',
    attempts: expect.arrayContaining([
      expect.objectContaining({ number: 1, provider: 'failing', outcome: 'upstream_failed', status: 500 }),
    ]),
    entries: [
      { kind: 'reserve', call: id },
      {
        kind: 'post',
        call: id,
        usage: [
          { unit: 'cacheRead', count: 4 },
          { unit: 'input', count: 9 },
          { unit: 'output', count: 3 },
        ],
        rule: 'standard',
        costs: expect.any(Array),
        lines: [
          { kind: 'input', units: 9, price: '1000', per: 1_000_000, amount: '0.009' },
          { kind: 'output', units: 3, price: '2000', per: 1_000_000, amount: '0.006' },
        ],
        total: '0.015',
        revenue: '0.015',
      },
    ],
  });
  const { timing } = z
    .object({
      timing: z.array(z.object({ name: z.string(), start_ms: z.number(), duration_ms: z.number() })),
    })
    .parse(detail);
  const names = timing.map(({ name }) => name);
  expect(names.slice(0, 6)).toEqual(['authenticate', 'read', 'replay', 'route', 'authorize', 'attempt 1']);
  expect(names.at(-1)).toBe('settle');
  expect(await readAdmin(`/calls/${only}`)).toMatchObject({
    routing: [
      {
        by: 'preferences',
        reason: 'the request leaves it out',
        removed: [{ provider: 'failing', model: 'house/model' }],
        order: [{ provider: 'answering', model: 'house/model' }],
      },
    ],
  });
});

it('a call is shown to people with its attempts, steps, cost by unit, and what it lost', async () => {
  const lossy = { provider: { ignore: ['demo'], order: ['failing', 'answering'] } };
  const text = formatDetails(
    replies['GET /admin/calls/:id'].parse(await readAdmin(`/calls/${await call(lossy)}`)),
  );
  expect(text).toContain(
    'asked     house/model, chat-completions, generate\nanswered  house/model by answering\n',
  );
  expect(text).toContain(`key       laptop (${key.id})\n`);
  expect(text).toMatch(/^cost {6}0\.015 USD by usage, rule standard, 0\.015 to the vendor, \S+ reserved$/m);
  expect(text).toMatch(/\nAttempts\n.*\n1 {2}failing {4}house\/model {2}upstream_failed {5}500 /);
  expect(text).toMatch(/\n2 {2}failing .*\n3 {2}answering {2}house\/model {2}completed /);
  expect(text).toMatch(/\nTime in ms\nSTEP .*\nauthenticate .*\n[^]*\nsettle .*/);
  expect(text).toMatch(
    /\nCost by unit\n.*\ninput +9 +1000 +1000000 +0\.009\noutput +3 +2000 +1000000 +0\.006$/,
  );
});

it('a call is shown to people with each loss once, of its attempts and of its reply', async () => {
  const detail = replies['GET /admin/calls/:id'].parse(await readAdmin(`/calls/${await call({})}`));
  const seed = { path: 'seed', code: 'unsupported', reason: 'the target has no seed' };
  const logprobs = { path: 'logprobs', code: 'unsupported', reason: 'the target has none' };
  const attempts = detail.attempts.map((attempt) => ({ ...attempt, losses: [seed, logprobs] }));
  const text = formatDetails({ ...detail, attempts, losses: [seed], losses_omitted: 3 });
  expect(text).toMatch(
    /\nLost\nFIELD .*\nseed +unsupported +the target has no seed\nlogprobs .*\nand 3 more$/,
  );
});

it('a refused call is shown to people with the reason and without tables that have no rows', async () => {
  const id = await call({ model: 'house/unknown' });
  const text = formatDetails(replies['GET /admin/calls/:id'].parse(await readAdmin(`/calls/${id}`)));
  expect(text).toMatch(/^answered {2}no provider was called\noutcome {3}refused, status 404, model_not_/m);
  expect(text).toMatch(/^because {3}The model "house\/unknown" does not exist/m);
  expect(text).not.toMatch(/Attempts|Cost by unit|Lost/);
});

it('stored calls are found by filters, in pages and as CSV; a wrong one is refused by name', async () => {
  const other = await createKey('beta', { credit: '5' });
  const id = await call({ model: 'demo/echo' }, other.key);
  expect(await listIds(`/calls?account=beta`)).toEqual([id]);
  expect(await listIds(`/calls?key=${other.id}&model=demo/echo&provider=demo&outcome=completed`)).toEqual([
    id,
  ]);
  expect(await listIds(`/calls?id=${id}`)).toEqual([id]);
  expect(await listIds(`/calls?account=beta&outcome=error`)).toEqual([]);
  expect(await listIds(`/calls?minCost=1000`)).toEqual([]);
  const first = await readAdmin('/calls?limit=1');
  expect(first.data).toHaveLength(1);
  const rest = await listIds(`/calls?after=${String(first.next)}`);
  expect(rest).toHaveLength((await listIds('/calls')).length - 1);
  expect(rest).not.toContain(first.data?.[0]?.id);
  const csv = await (await fetchWithKey(`${adminUrl}/admin/calls?account=beta&format=csv`, secret)).text();
  expect(csv).toMatch(/^id,started,ended,account,key,.*\r\n.*,beta,/);
  expect(await readAdmin('/calls?outcome=good', 400)).toMatchObject({ error: { param: 'outcome' } });
  expect(await readAdmin('/calls?colour=red', 400)).toMatchObject({ error: { code: 'invalid_request' } });
  await readAdmin('/calls/unknown', 404);
});

it('stored calls come from the database once memory drops them, for their key alone', async () => {
  const id = await call({ provider: { only: ['answering'] } });
  const text = await (await fetchWithKey(`${gateway.url}/v1/calls/${id}`, key.key)).text();
  await call({ provider: { only: ['answering'] } });
  await readAdmin('/calls');
  const again = await fetchWithKey(`${gateway.url}/v1/calls/${id}`, key.key);
  expect(again.status).toBe(200);
  expect(await again.json()).toEqual(JSON.parse(text));
  const other = await createKey('beta');
  expect((await fetchWithKey(`${gateway.url}/v1/calls/${id}`, other.key)).status).toBe(404);
});
