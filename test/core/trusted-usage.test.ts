/** A provider's usage that cannot be true: bounded, flagged, and never free. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeCharge } from '../../core/billing/charge.ts';
import { Tally } from '../../core/billing/reply-progress.ts';
import type { CanonicalRequest, Charge, InputSize, Usage } from '../../core/index.ts';
import { bytes, chargeUsage, estimate, exchange, inHouse } from './charged.ts';

describe('plausible figures', () => {
  it('charges plausible figures unchanged', () => {
    expect(chargeUsage([{ input: 9, output: 4 }])).toEqual({
      lines: expect.any(Array),
      rule: 'standard',
      usage: { input: 9, output: 4 },
      cost: 17_000n,
      basis: 'usage',
      suspect: false,
    });
  });

  it('charges figures once, however often they are reported', () => {
    expect(chargeUsage([{ input: 9, output: 1 }, { output: 4 }, { input: 9, output: 4 }])).toMatchObject({
      cost: 17_000n,
      basis: 'usage',
      suspect: false,
    });
  });

  it('accepts more input than bytes, up to what a provider adds itself', () => {
    expect(chargeUsage([{ input: bytes + 400, output: 4 }])).toMatchObject({
      usage: { input: bytes + 400 },
      suspect: false,
    });
  });
});

describe('zero input and output', () => {
  const chargeReply = (
    complete: boolean,
    kind: 'text' | 'tool-call' | 'image',
    before: Usage = {},
  ): Charge => {
    const tally = new Tally();
    tally.read({ type: 'block-start', candidate: 0, block: 0, kind });
    tally.read({ type: 'block-delta', candidate: 0, block: 0, text: 'hello there' });
    for (const usage of [before, { input: 0, output: 0 }]) tally.read({ type: 'usage', usage });
    if (complete) tally.read({ type: 'response-end' });
    return computeCharge(complete ? 'completed' : 'cut', exchange, tally);
  };

  it('charges nothing for a complete reply that reports zero tokens', () => {
    expect(chargeReply(true, 'tool-call')).toEqual({
      lines: expect.any(Array),
      rule: 'standard',
      usage: { input: 0, output: 0 },
      cost: 0n,
      basis: 'usage',
      suspect: false,
    });
  });

  it('suspects zero tokens if the model wrote text', () => {
    expect(chargeReply(true, 'text')).toMatchObject({ cost: 0n, basis: 'usage', suspect: true });
  });

  it('estimates zero tokens of a reply that broke off, and does not suspect them', () => {
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

  it('does not accept zero tokens for a picture', () => {
    expect(chargeReply(true, 'image')).toMatchObject({
      usage: { input: estimate.input },
      basis: 'estimate',
      suspect: true,
    });
  });

  it('does not accept zero tokens with an implausible number of searches', () => {
    expect(chargeReply(true, 'tool-call', { webSearches: 1001 })).toMatchObject({
      basis: 'estimate',
      suspect: true,
    });
  });
});

describe('corrected figures', () => {
  const field = fc.constantFrom('input', 'output', 'cacheRead', 'cacheWrite5m', 'reasoning', 'webSearches');
  const readings = fc.array(fc.record({ field, count: fc.nat(1000) }), { minLength: 1, maxLength: 30 });

  it('charges the last figure of each field, however fields are grouped and values rise or fall', () => {
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
  ])('accepts a smaller last figure: %s', (_, figures, bill) => {
    expect(chargeUsage(figures)).toMatchObject({ usage: bill, basis: 'usage', suspect: false });
  });
});

describe('unpriced use', () => {
  it.each<[kind: string, usage: Usage]>([
    ['sound', { inputAudio: 5 }],
    ['sound of its own', { outputAudio: 2 }],
    ['a picture', { outputImage: 2 }],
  ])('suspects a call with unpriced use: %s', (_, usage) => {
    expect(chargeUsage([{ input: 5, output: 4, ...usage }])).toEqual({
      lines: expect.any(Array),
      rule: 'standard',
      usage: { input: 5, output: 4, ...usage },
      cost: 13_000n,
      basis: 'usage',
      suspect: true,
    });
  });

  it('charges media that the model is known to read at its input rate', () => {
    expect(chargeUsage([{ input: 9, output: 4, inputImage: 5, reasoning: 2 }]).suspect).toBe(false);
  });
});

describe('input beyond the bytes of the request', () => {
  const [turn] = exchange.getRequest().turns;
  const { contextLength } = inHouse.model;
  const chargeInput = (
    usage: Usage,
    size: Partial<InputSize>,
    more: Partial<CanonicalRequest> = {},
  ): Charge => {
    const tally = new Tally();
    tally.read({ type: 'usage', usage: { output: 4, ...usage } });
    const call = { ...exchange.call, size: { ...exchange.call.size, ...size } };
    return computeCharge(
      'completed',
      { ...exchange, call, getRequest: () => ({ ...exchange.getRequest(), ...more }) },
      tally,
    );
  };

  it('accepts input up to the context length if the provider must fetch a part', () => {
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

  it('accepts input up to the context length for each use of a built-in tool', () => {
    const most = contextLength * 4;
    expect(
      [chargeInput({ input: most }, { rounds: 3 }), chargeInput({ input: most + 1 }, { rounds: 3 })].map(
        ({ suspect }) => suspect,
      ),
    ).toEqual([false, true]);
  });

  it('accepts tokens read from a cache that the call names', () => {
    const usage = { input: 88_840, cacheRead: 88_830 };
    expect(chargeInput(usage, { cached: true })).toMatchObject({ usage, basis: 'usage', suspect: false });
  });

  it('does not accept as many uncached tokens in addition to that cache', () => {
    expect(chargeInput({ input: 88_840, cacheRead: 10 }, { cached: true })).toMatchObject({
      basis: 'estimate',
      suspect: true,
    });
  });
});

describe('a call that only its provider can decode', () => {
  it('charges a call that the gateway cannot decode', () => {
    const tally = new Tally();
    tally.read({ type: 'usage', usage: { input: 20_000, output: 4 } });
    const failToRead = (): never => {
      throw new Error('no other protocol has a word for it');
    };
    expect(computeCharge('completed', { ...exchange, getRequest: failToRead }, tally)).toMatchObject({
      usage: { input: 20_000 },
      suspect: false,
    });
  });
});
