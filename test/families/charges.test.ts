/**
 * Whatever usage a vendor reports, the ledger has what the vendor's price makes of it, to the nano, computed
 * here with decimals. Without usage it has an estimate that is marked, and never more than was reserved.
 */
import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Entry, Store } from '../../plugins/meters/balance/store.ts';
import { openBooks } from '../support/books.ts';
import { isObject } from '../support/json.ts';
import { calls, openFamilies, price, sendAnswer, type FamilyCall, type FamilyHarness } from './calls.ts';

let families: FamilyHarness;
let store: Store;
beforeAll(async () => {
  families = await openFamilies();
  store = (await openBooks(families.gateway)).store;
});
afterAll(() => families.expectCleanBooks());

interface Asked {
  readonly texts: readonly string[];
  /** Choices of a completion that are sent, and that are made. */
  readonly n: number;
  readonly best: number;
}

const most = 16;
const asked: fc.Arbitrary<Asked> = fc
  .record({
    texts: fc.array(fc.nat(200), { minLength: 1, maxLength: 8 }).map((lengths) =>
      // No vendor counts more tokens than bytes.
      lengths.map((length, at) => `${at} ${'a'.repeat(most + length)}`),
    ),
    n: fc.integer({ min: 1, max: 3 }),
    more: fc.nat(3),
  })
  .map(({ texts, n, more }) => ({ texts, n, best: n + more }));

function buildBody({ name, wire, path }: FamilyCall, { texts, n, best }: Asked): object {
  if (path.includes('/models/'))
    return {
      requests: texts.map((text) => ({ model: `models/house/${name}`, content: { parts: [{ text }] } })),
    };
  if (path.includes('rerank')) return { query: 'a lamp', documents: texts };
  if (name === 'complete-streamed') return { prompt: texts[0], max_tokens: most, stream: true };
  return wire === 'completions' ? { prompt: texts, max_tokens: most, n, best_of: best } : { input: texts };
}

/** What the vendor bills in all, if each body is billed with the next of these. */
function countBilled(call: FamilyCall, { texts, best }: Asked, billed: readonly number[]): [number, number] {
  const [tokens = 0] = billed;
  if (call.name === 'complete-streamed') return [tokens, tokens];
  if (call.name === 'complete') return [tokens * texts.length, tokens * texts.length * best];
  return [billed.reduce((sum, count) => sum + count, 0), 0];
}

function toNano(input: number, output: number): bigint {
  const dollars = new Decimal(price.input)
    .times(input)
    .plus(new Decimal(price.output).times(output))
    .div(1_000_000);
  return BigInt(dollars.times(1e9).toDecimalPlaces(0, Decimal.ROUND_HALF_EVEN).toFixed());
}

interface Settled {
  readonly reserved: bigint;
  readonly end: Entry;
}

/** Makes a call whose vendor answers with what `change` makes of a good answer. */
async function settle(
  call: FamilyCall,
  body: object,
  answer: (sent: unknown, place: number) => unknown,
): Promise<Settled> {
  let count = 0;
  families.vendor.conduct((response, _request, sent) => {
    const place = count;
    count += 1;
    sendAnswer(response, answer(JSON.parse(sent), place));
  });
  const response = await families.post(call, { body });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.anything()]);
  const id = response.headers.get('x-request-id') ?? '';
  const [reserve, end, ...others] = await store.listEntries({ call: id, limit: 9 });
  if (!reserve || !end || others.length > 0) throw new Error(`the entries of ${id} are not two`);
  return { reserved: reserve.reserved, end };
}

const counting = calls.filter(({ wire }) => wire !== 'tei-rerank');

describe.each(counting.map((call) => [call.name, call] as const))('%s', (_, call) => {
  it("is charged by the vendor's figures, whatever they are", () =>
    fc.assert(
      fc.asyncProperty(
        asked,
        fc.array(fc.integer({ min: 1, max: most }), { minLength: 8, maxLength: 8 }),
        async (ask, billed) => {
          let sent = 0;
          const { end, reserved } = await settle(call, buildBody(call, ask), (body, place) => {
            sent += 1;
            return call.answer(body, billed[place] ?? 0);
          });
          const counted = call.wire === 'completions' ? billed.slice(0, 1) : billed.slice(0, sent);
          const [input, output] = countBilled(call, ask, counted);
          expect(end).toMatchObject({ kind: 'post', basis: 'usage', input, output });
          expect(end.revenue).toBe(toNano(input, output));
          expect(end.revenue).toBeLessThanOrEqual(reserved);
        },
      ),
      { numRuns: 25 },
    ));
});

const members = ['usage', 'usageMetadata', 'inputTextTokenCount', 'meta'];

/** The same answer without usage. */
function dropUsage(answer: unknown): unknown {
  if (typeof answer === 'string') return answer.replace(/data: [^\n]*"choices":\[\][^\n]*\n\n/, '');
  if (!isObject(answer)) return answer;
  return Object.fromEntries(Object.entries(answer).filter(([name]) => !members.includes(name)));
}

describe.each(calls.map((call) => [call.name, call] as const))('%s', (_, call) => {
  it('is charged by an estimate that says so, and at most what was reserved, without usage', () =>
    fc.assert(
      fc.asyncProperty(asked, async (ask) => {
        const { end, reserved } = await settle(call, buildBody(call, ask), (body) =>
          dropUsage(call.answer(body, 7)),
        );
        expect(end).toMatchObject({ kind: 'post', basis: 'estimate' });
        expect(end.revenue).toBeGreaterThan(0n);
        expect(end.revenue).toBeLessThanOrEqual(reserved);
      }),
      { numRuns: 10 },
    ));
});

const impossible = [1e9, Number.MAX_SAFE_INTEGER, -5, 1.5];

it.each(counting.map((call) => [call.name, call] as const))(
  '%s is charged an estimate, and at most what was reserved, if the vendor bills what cannot be true',
  async (_, call) => {
    // Zero is no usage, except that some replies of models of text are free.
    for (const tokens of call.wire === 'completions' ? impossible : [...impossible, 0]) {
      const ask = { texts: ['a text of some words'], n: 1, best: 1 };
      const { end, reserved } = await settle(call, buildBody(call, ask), (body) => call.answer(body, tokens));
      expect([tokens, end.kind, end.basis]).toEqual([tokens, 'post', 'estimate']);
      expect(end.revenue).toBeGreaterThan(0n);
      expect(end.revenue).toBeLessThanOrEqual(reserved);
    }
  },
);
