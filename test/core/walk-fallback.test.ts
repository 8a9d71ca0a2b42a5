/** Calls that fail at one target and continue at the next. */
import { expect, it } from 'vitest';
import { GatewayError } from '../../core/index.ts';
import { withCounts } from '../support/rates.ts';
import {
  type Behaviour,
  call,
  defineTaps,
  openGateway,
  waitForEnd,
  open,
  answerStream,
  streamParts,
  buildVendor,
  answerWhole,
} from './one-call.ts';

it.each([
  ['a server error', async () => ({ status: 503, body: 'busy' })],
  ['a broken connection', () => Promise.reject(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))],
  ['garbage', async () => ({ body: '<html>' })],
  ['a reply that ends before its first event', streamParts(async function* () {})],
  [
    'comments and nothing else',
    streamParts(async function* () {
      yield ': hold the line\n\n';
    }),
  ],
] satisfies [string, Behaviour][])(
  'a call continues with the next target after %s, and charges that one alone',
  async (what, behaviour) => {
    const stream = what.includes('event') || what.includes('comments');
    const started = await openGateway([
      open(),
      buildVendor('first', behaviour),
      buildVendor('second', stream ? answerStream : answerWhole),
    ]);
    const response = await call(started, { stream });
    expect([
      response.status,
      response.headers.get('x-tollgate-provider'),
      response.headers.get('x-tollgate-attempts'),
    ]).toEqual([200, 'second', '3']);
    await response.text();
    const end = await waitForEnd(started);
    expect(end).toMatchObject({ type: 'answered', charge: { cost: 11_000n } });
    expect(end.attempts.map(({ target, error }) => [target.provider.name, error?.code])).toEqual([
      ['first', 'upstream_failed'],
      ['first', 'upstream_failed'],
      ['second', undefined],
    ]);
  },
);

it('a call does not fall back if the request itself is invalid', async () => {
  const started = await openGateway([
    open(),
    buildVendor('first', async () => ({ status: 400, body: 'bad' })),
    buildVendor('second', answerWhole),
  ]);
  expect((await call(started)).status).toBe(400);
  expect((await waitForEnd(started)).attempts).toHaveLength(1);
});

it('a call never falls back after the first event: its stream ends in an error', async () => {
  const cut = streamParts(async function* () {
    yield 'data: {"model":"m","text":"one"}\n\n';
  });
  const started = await openGateway([open(), buildVendor('first', cut), buildVendor('second', answerStream)]);
  const text = await (await call(started, { stream: true })).text();
  expect(text).toBe(
    'data: {"model":"house/model","text":"one"}\n\ndata: {"plain_error":"upstream_failed"}\n\n',
  );
  expect(await waitForEnd(started)).toMatchObject({
    type: 'answered',
    outcome: 'cut',
    charge: { basis: 'estimate', uses: withCounts({ output: 1 }) },
  });
});

it.each([
  ['are spent, and tells the client not to retry', { 'retry-after-ms': '20' }, ['1', 'false', '5']],
  ['would take too long, and tells the client when to retry', { 'retry-after': '12' }, ['12', null, '2']],
])('a call ends with one error when the retries at every target %s', async (_, headers, expected) => {
  const failAlways: Behaviour = async () => ({ status: 500, headers, body: '' });
  const started = await openGateway([
    open(),
    buildVendor('first', failAlways),
    buildVendor('second', failAlways),
  ]);
  const response = await call(started);
  const heads = ['retry-after', 'x-should-retry', 'x-tollgate-attempts'].map((name) =>
    response.headers.get(name),
  );
  expect([response.status, heads]).toEqual([503, expected]);
  expect(await waitForEnd(started)).toMatchObject({ type: 'failed', charge: { cost: 0n, basis: 'none' } });
});

it('a call falls back when the first event is late', async () => {
  const waitForAbort: Behaviour = async (_, { attempt }) =>
    new Promise((_resolve, reject) =>
      attempt.signal.addEventListener('abort', () => reject(new Error('aborted'))),
    );
  const started = await openGateway(
    [open(), buildVendor('first', waitForAbort), buildVendor('second', answerWhole)],
    {
      timeouts: { reply: 0.5 },
    },
  );
  const response = await call(started);
  expect(response.headers.get('x-tollgate-provider')).toBe('second');
  await response.text();
  expect((await waitForEnd(started)).attempts[0]?.error?.code).toBe('timeout');
});

it('a call falls back when a dispatch tap ignores its cancellation', async () => {
  const started = await openGateway(
    [open(), buildVendor('first', () => new Promise(() => undefined)), buildVendor('second', answerWhole)],
    { timeouts: { reply: 0.5 } },
  );
  expect((await call(started)).headers.get('x-tollgate-provider')).toBe('second');
  expect((await waitForEnd(started)).attempts[0]?.error?.code).toBe('timeout');
});

const lacking: Behaviour = async () => {
  throw new GatewayError('model_not_found', 'No such model.');
};

it('what a further target may use is decided by taps of `extend`, each from the first grant', async () => {
  const seen: [string[], number | undefined][] = [];
  const limits: (number | undefined)[] = [];
  const note: Behaviour = async (request, exchange) => {
    limits.push(exchange.grant.outputLimit);
    expect(exchange.grant.targets).toHaveLength(3);
    return exchange.attempt.target.provider.name === 'third'
      ? answerWhole(request, exchange)
      : lacking(request, exchange);
  };
  const taps = defineTaps(({ hooks }) => {
    hooks.authorize.tapPromise('a', async (grant) => ({ ...grant, outputLimit: 50 }));
    hooks.extend.tapPromise('a', async (grant, { attempt }) => {
      seen.push([grant.targets.map(({ provider }) => provider.name), grant.outputLimit]);
      return attempt.number === 1 ? { ...grant, outputLimit: 20 } : grant;
    });
  });
  const started = await openGateway([
    taps(),
    ...['first', 'second', 'third'].map((name) => buildVendor(name, note)),
  ]);
  const response = await call(started);
  expect(response.headers.get('x-tollgate-provider')).toBe('third');
  expect(seen).toEqual([
    [['second'], 50],
    [['third'], 50],
  ]);
  expect(limits).toEqual([50, 20, 50]);
});

it('a further target that a tap refuses is skipped, and the final error names it', async () => {
  const taps = defineTaps(({ hooks }) =>
    hooks.extend.tapPromise('a', async (grant) => {
      if (grant.targets[0]?.provider.name === 'second')
        throw new GatewayError('out_of_balance', 'It is dear.');
      return grant;
    }),
  );
  const plugins = ['first', 'second', 'third'].map((name) => buildVendor(name, lacking));
  const started = await openGateway([taps(), ...plugins]);
  const response = await call(started);
  expect(await response.json()).toMatchObject({
    message: expect.stringMatching(/house\/model of second was skipped\. It is dear\.$/),
  });
  const end = await waitForEnd(started);
  expect(end.attempts.map(({ target }) => target.provider.name)).toEqual(['first', 'third']);
  expect(end).toMatchObject({ type: 'failed', exchange: { grant: { targets: { length: 2 } } } });
});

it('a further target whose tap fails is skipped, the call continues, and the log has the fault', async () => {
  const taps = defineTaps(({ hooks }) =>
    hooks.extend.tapPromise('a', async (grant) => {
      if (grant.targets[0]?.provider.name === 'second') throw new TypeError('a slip');
      return grant;
    }),
  );
  const started = await openGateway([
    taps(),
    buildVendor('first', lacking),
    buildVendor('second', lacking),
    buildVendor('third', answerWhole),
  ]);
  expect((await call(started)).headers.get('x-tollgate-provider')).toBe('third');
  expect(started.log.join('')).toContain('a slip');
});

it('a skipped target holds no call back that waits for its first result', async () => {
  let isOpen = false;
  const taps = defineTaps(({ hooks }) =>
    hooks.extend.tapPromise('a', async (grant) => {
      if (!isOpen) throw new GatewayError('out_of_balance', 'It is dear.');
      return grant;
    }),
  );
  // A call that waited would wait for ten minutes.
  const started = await openGateway(
    [taps(), buildVendor('first', lacking), buildVendor('second', answerWhole)],
    { retries: { longestWait: 600 } },
  );
  expect((await call(started)).status).toBe(404);
  isOpen = true;
  expect((await call(started)).headers.get('x-tollgate-provider')).toBe('second');
});
