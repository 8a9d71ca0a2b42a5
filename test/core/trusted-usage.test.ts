/** A provider's usage that cannot be true: bounded, flagged, and never free. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { boundUse, computeWorstCost } from '../../core/billing/cost-bounds.ts';
import type { CanonicalRequest, InputSize, Target, Usage } from '../../core/index.ts';
import { Tally } from '../../core/tally.ts';
import { target } from '../balance/targets.ts';
import { bytes, chargeOf, chargeUsage, estimate, exchange, inHouse, type NamedCharge } from './charged.ts';

it('the check of usage charges plausible figures unchanged', () => {
  expect(chargeUsage([{ input: 9, output: 4 }])).toEqual({
    lines: expect.any(Array),
    rule: 'standard',
    usage: { input: 9, output: 4 },
    cost: 17_000n,
    basis: 'usage',
    suspect: false,
  });
});

it('the check of usage charges figures once, however often they are reported', () => {
  expect(chargeUsage([{ input: 9, output: 1 }, { output: 4 }, { input: 9, output: 4 }])).toMatchObject({
    cost: 17_000n,
    basis: 'usage',
    suspect: false,
  });
});

it('the check of usage accepts more input than bytes, up to what a provider adds itself', () => {
  expect(chargeUsage([{ input: bytes + 400, output: 4 }])).toMatchObject({
    usage: { input: bytes + 400 },
    suspect: false,
  });
});

const chargeReply = (
  complete: boolean,
  kind: 'text' | 'tool-call' | 'image',
  before: Usage = {},
): NamedCharge => {
  const tally = new Tally();
  tally.read({ type: 'block-start', candidate: 0, block: 0, kind });
  tally.read({ type: 'block-delta', candidate: 0, block: 0, text: 'hello there' });
  for (const usage of [before, { input: 0, output: 0 }]) tally.read({ type: 'usage', usage });
  if (complete) tally.read({ type: 'response-end' });
  return chargeOf(complete ? 'completed' : 'cut', exchange, tally);
};

it('the check of usage charges nothing for a complete reply that reports zero tokens', () => {
  expect(chargeReply(true, 'tool-call')).toEqual({
    lines: expect.any(Array),
    rule: 'standard',
    usage: { input: 0, output: 0 },
    cost: 0n,
    basis: 'usage',
    suspect: false,
  });
});

it('the check of usage suspects zero tokens if the model wrote text', () => {
  expect(chargeReply(true, 'text')).toMatchObject({ cost: 0n, basis: 'usage', suspect: true });
});

it('the check of usage estimates zero tokens of a broken reply, without suspicion', () => {
  expect(chargeReply(false, 'tool-call')).toMatchObject({
    usage: estimate,
    basis: 'estimate',
    suspect: false,
  });
  expect(chargeUsage([{ input: 5, output: 0 }], 'hello there', 'aborted')).toMatchObject({
    usage: { input: 5, output: estimate.output },
    basis: 'estimate',
    suspect: false,
  });
});

it('the check of usage does not accept zero tokens for a picture', () => {
  expect(chargeReply(true, 'image')).toMatchObject({
    usage: { input: estimate.input },
    basis: 'estimate',
    suspect: true,
  });
});

it('the check of usage does not accept zero tokens with an implausible number of searches', () => {
  expect(chargeReply(true, 'tool-call', { webSearches: 1001 })).toMatchObject({
    basis: 'estimate',
    suspect: true,
  });
});

const field = fc.constantFrom('input', 'output', 'cacheRead', 'cacheWrite5m', 'reasoning', 'webSearches');
const readings = fc.array(fc.record({ field, count: fc.nat(1000) }), { minLength: 1, maxLength: 30 });

it('the check of usage takes the last figure of each field, however they are grouped', () => {
  fc.assert(
    fc.property(readings, fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }), (all, joins) => {
      const reports: Record<string, number>[] = [];
      for (const [index, { field: name, count }] of all.entries()) {
        const open = joins[index] ? reports.at(-1) : undefined;
        if (open) open[name] = count;
        else reports.push({ [name]: count });
      }
      const last = Object.fromEntries(all.map(({ field: name, count }) => [name, count]));
      expect(chargeUsage(reports)).toEqual(chargeUsage([last]));
    }),
  );
});

it.each<[vendor: string, figures: Usage[], bill: Usage]>([
  [
    'Gemini corrects its output from 169 to 79',
    [
      { input: 5, output: 169 },
      { input: 5, output: 79 },
    ],
    { input: 5, output: 79 },
  ],
  [
    'Anthropic corrects its input from 612 to 28',
    [{ input: 612 }, { input: 28, output: 9 }],
    { input: 28, output: 9 },
  ],
])('the check of usage accepts a smaller last figure: %s', (_, figures, bill) => {
  expect(chargeUsage(figures)).toMatchObject({ usage: bill, basis: 'usage', suspect: false });
});

it.each<[kind: string, usage: Usage]>([
  ['sound', { inputAudio: 5 }],
  ['sound of its own', { outputAudio: 2 }],
  ['a picture', { outputImage: 2 }],
])('the check of usage suspects a call with unpriced use: %s', (_, usage) => {
  expect(chargeUsage([{ input: 5, output: 4, ...usage }])).toEqual({
    lines: expect.any(Array),
    rule: 'standard',
    usage: { input: 5, output: 4, ...usage },
    cost: 13_000n,
    basis: 'usage',
    suspect: true,
  });
});

it('the check of usage charges media that the model is known to read at its input rate', () => {
  expect(chargeUsage([{ input: 9, output: 4, inputImage: 5, reasoning: 2 }]).suspect).toBe(false);
});

const [turn] = exchange.getRequest().turns;
const { contextLength } = inHouse.model;
const chargeInput = (
  usage: Usage,
  size: Partial<InputSize>,
  more: Partial<CanonicalRequest> = {},
): NamedCharge => {
  const tally = new Tally();
  tally.read({ type: 'usage', usage: { output: 4, ...usage } });
  const call = { ...exchange.call, size: { ...exchange.call.size, ...size } };
  return chargeOf(
    'completed',
    { ...exchange, call, getRequest: () => ({ ...exchange.getRequest(), ...more }) },
    tally,
  );
};

it('the check of usage accepts the context length if the provider must fetch a part', () => {
  const document = {
    type: 'media',
    kind: 'document',
    source: { type: 'url', url: 'https://example.com/a.pdf' },
  } as const;
  const turns = [{ ...turn, role: 'user' as const, blocks: [document] }];
  expect(
    [
      chargeInput({ input: contextLength }, {}, { turns }),
      chargeInput({ input: contextLength + 1 }, {}, { turns }),
      chargeInput({ input: contextLength }, {}),
    ].map(({ suspect }) => suspect),
  ).toEqual([false, true, true]);
});

it('the check of usage accepts input up to the context length for each use of a built-in tool', () => {
  const most = contextLength * 4;
  expect(
    [chargeInput({ input: most }, { rounds: 3 }), chargeInput({ input: most + 1 }, { rounds: 3 })].map(
      ({ suspect }) => suspect,
    ),
  ).toEqual([false, true]);
});

it('the check of usage accepts tokens read from a cache that the call names', () => {
  const usage = { input: 88_840, cacheRead: 88_830 };
  expect(chargeInput(usage, { cached: true })).toMatchObject({ usage, basis: 'usage', suspect: false });
});

it('the check of usage does not accept as many uncached tokens in addition to that cache', () => {
  expect(chargeInput({ input: 88_840, cacheRead: 10 }, { cached: true })).toMatchObject({
    basis: 'estimate',
    suspect: true,
  });
});

const { outputLimit } = inHouse.model;
interface Case {
  readonly limit?: number;
  readonly granted?: number;
  readonly candidates?: number;
  readonly rounds?: number;
  readonly on?: Target;
  readonly pictures?: number;
}
const chargeOutput = (usage: Usage, { on = inHouse, ...given }: Case): NamedCharge => {
  const tally = new Tally();
  for (let block = 0; block < (given.pictures ?? 0); block += 1)
    tally.read({ type: 'block-start', candidate: 0, block, kind: 'image' });
  tally.read({ type: 'usage', usage: { input: bytes, ...usage } });
  const size = { ...exchange.call.size, rounds: given.rounds };
  const call = {
    ...exchange.call,
    size,
    outputLimit: given.limit,
    candidates: given.candidates ?? 1,
  };
  const grant = {
    targets: [on],
    ...(given.granted === undefined ? {} : { outputLimit: given.granted }),
  };
  const attempt = { ...exchange.attempt, target: on };
  return chargeOf('completed', { ...exchange, call, grant, attempt }, tally);
};
const painter = target(
  'house',
  { input: '1', output: '2' },
  {
    output: ['text', 'image'],
    capabilities: {
      image: {
        tokens: { auto: 500 },
        sizes: { auto: 'auto' },
        qualities: { auto: 'auto' },
        formats: { png: 'png' },
        backgrounds: { auto: 'auto' },
      },
    },
  },
);
const thinker = target(
  'house',
  { input: '1', output: '2' },
  { capabilities: { reasoning: { style: 'toggle', outsideLimit: true } } },
);

it.each<[what: string, output: number, given: Case, charged: number]>([
  ['the limit of the client', 900, { limit: 16 }, 16],
  ['the limit of each candidate', 900, { limit: 16, candidates: 3 }, 48],
  ['a limit that was lowered', 900, { limit: 800, granted: 20 }, 20],
  ['a limit that the grant added', 900, { granted: 20 }, 20],
  ['the limit and the pictures that came', 900, { limit: 16, on: painter, pictures: 1 }, 500],
])('output beyond the limit that was sent is suspect and capped: %s', (_, output, given, charged) => {
  expect(chargeOutput({ output }, given)).toMatchObject({
    usage: { output: charged },
    cost: BigInt(bytes) * 1000n + BigInt(charged) * 2000n,
    suspect: true,
  });
});

it.each<[what: string, usage: Usage, given: Case]>([
  ['that misses the limit by a few tokens', { output: 40 }, { limit: 16 }],
  ['without a limit of the client', { output: outputLimit }, {}],
  ['up to the limit of the model', { output: outputLimit + 9 }, { limit: outputLimit * 9 }],
  ['of all candidates together', { output: 48 }, { limit: 16, candidates: 3 }],
  ['with what the tools of the provider wrote', { output: 900 }, { limit: 16, rounds: 2 }],
  ['with a picture, which is produced whole', { output: 516 }, { limit: 16, on: painter, pictures: 1 }],
  [
    'with reasoning that the vendor does not limit',
    { output: 900, reasoning: 890 },
    { limit: 16, on: thinker },
  ],
])('output beyond the limit that was sent is charged as reported: %s', (_, usage, given) => {
  expect(chargeOutput(usage, given)).toMatchObject({ usage, basis: 'usage', suspect: false });
});

const chargeWith = (
  fields: Partial<CanonicalRequest>,
  usage: Usage,
  limit: number = inHouse.model.outputLimit,
): NamedCharge => {
  const tally = new Tally();
  tally.read({ type: 'usage', usage });
  const call = { ...exchange.call, outputLimit: limit };
  const request = { ...exchange.getRequest(), ...fields };
  return chargeOf('completed', { ...exchange, call, getRequest: () => request }, tally);
};
const added = 5200;
const unknown = { vendor: { plain: { skills: ['weather'] } } };
const reserved = (limit: number): bigint =>
  computeWorstCost(boundUse({ ...exchange.call, outputLimit: limit }, inHouse, undefined), inHouse.price);

it('input that a parameter adds counts as far as the reservation pays for it, and is suspect', () => {
  // A thousand tokens of output are reserved, and pay for two thousand of input.
  expect(reserved(1000)).toBe(2_000_000n + BigInt(bytes) * 1000n);
  const [turn] = exchange.getRequest().turns;
  const turns = [{ ...turn, role: 'user' as const, blocks: [], ...unknown }];
  for (const fields of [unknown, { turns }]) {
    expect(chargeWith(fields, { input: added, output: 4 })).toMatchObject({
      usage: { input: 2000 + bytes - 8, output: 4 },
      cost: reserved(1000),
      suspect: true,
    });
  }
});

it('input that a parameter adds costs no more than the reservation, whatever is reported', () => {
  fc.assert(
    fc.property(
      fc.nat(inHouse.model.contextLength - 4097 - bytes),
      fc.nat(2000),
      fc.integer({ min: 1, max: 1000 }),
      (input, output, limit) => {
        const charge = chargeWith(unknown, { input: bytes + 4097 + input, output }, limit);
        expect(charge.suspect).toBe(true);
        expect(charge.cost).toBeLessThanOrEqual(reserved(limit));
        expect(charge.usage.input).toBeGreaterThanOrEqual(bytes);
      },
    ),
    { numRuns: 200 },
  );
});

it('input that a parameter adds is estimated if the provider was sent no such parameter', () => {
  const foreign = { vendor: { messages: { skills: ['weather'] } } };
  for (const fields of [{}, foreign]) {
    expect(chargeWith(fields, { input: added, output: 4 })).toMatchObject({
      usage: { input: estimate.input, output: 4 },
      suspect: true,
    });
  }
});

it('the check of usage charges a call that the gateway cannot decode', () => {
  const tally = new Tally();
  tally.read({ type: 'usage', usage: { input: 20_000, output: 4 } });
  const failToRead = (): never => {
    throw new Error('no other protocol has a word for it');
  };
  expect(chargeOf('completed', { ...exchange, getRequest: failToRead }, tally)).toMatchObject({
    usage: { input: 20_000 },
    suspect: false,
  });
});

it('a call whose provider does not report the unit of its price is charged for what it likely uses', () => {
  const { attempt, call, ...others } = exchange;
  const searches = target('house', { input: '0', output: '0', search: '0.002' });
  const fees = [{ name: 'search', field: 'documents', most: 7, expected: 3, spared: true }] as const;
  const charge = (usage: Usage | undefined, outcome: 'completed' | 'left-before-output'): NamedCharge => {
    const tally = new Tally();
    if (usage) tally.read({ type: 'usage', usage });
    if (outcome === 'completed') tally.read({ type: 'response-end' });
    return chargeOf(
      outcome,
      {
        ...others,
        getRequest: () => exchange.getRequest(),
        call: Object.assign(Object.create(call), { fees }),
        attempt: { ...attempt, signal: attempt.signal, sent: true, target: searches },
      },
      tally,
    );
  };
  expect(charge(undefined, 'completed')).toMatchObject({ cost: 6_000_000n, basis: 'estimate' });
  expect(charge(undefined, 'left-before-output')).toMatchObject({ cost: 6_000_000n, basis: 'estimate' });
  // Tokens alone are no figure by which such a model is priced.
  expect(charge({ input: 40, output: 0 }, 'completed')).toMatchObject({
    cost: 6_000_000n,
    basis: 'estimate',
  });
  const reported = charge({ input: 0, output: 0, search: 5 }, 'completed');
  expect(reported).toMatchObject({ cost: 10_000_000n, basis: 'usage', suspect: false });
  const excessive = charge({ input: 0, output: 0, search: 8 }, 'completed');
  expect(excessive).toMatchObject({ cost: 14_000_000n, suspect: true });
});
