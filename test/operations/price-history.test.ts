/** The shared history of prices: what is in effect, what overrides it, and what an automatic feed repeats. */
import { beforeEach, describe, expect, it } from 'vitest';
import { getRate, priceSchema, type Documents } from '../../core/index.ts';
import { AppliedPrices, editHistory, readHistory } from '../../plugins/operations/catalogue/price-history.ts';
import {
  applyFeed,
  confirmUpdate,
  undoUpdate,
  type FeedOrder,
} from '../../plugins/operations/catalogue/price-updates.ts';
import { readSnapshot } from '../../plugins/operations/catalogue/snapshot.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { createHost } from '../support/host.ts';
import { testProvider } from '../support/test-provider.ts';

/** Documents in memory. `interrupt` runs once before the next write, as another process would. */
function createDocuments(): Documents & { interrupt: (() => Promise<unknown>) | undefined } {
  let kept: { version: number; text: string } | undefined;
  return {
    interrupt: undefined,
    read: async () => kept,
    async write(_, text, replaces) {
      const other = this.interrupt;
      this.interrupt = undefined;
      await other?.();
      if ((kept?.version ?? 0) !== replaces) return false;
      kept = { version: replaces + 1, text };
      return true;
    },
  };
}

const { catalog } = createHost([
  testProvider({
    name: 'inhouse',
    endpoints: {},
    models: [{ upstream: 'one', price: { input: '1', output: '2' } }],
  }),
]);
const [offer] = catalog.find('house/model');
const day = 24 * 3_600_000;

let documents: ReturnType<typeof createDocuments>;
beforeEach(() => void (documents = createDocuments()));

const buildFeed = (input: number) =>
  readSnapshot(
    JSON.stringify({ inhouse: { models: { one: { id: 'one', cost: { input, output: 2 } } } } }),
    'feed',
  );

function apply(input: number, more: Partial<FeedOrder> = {}) {
  const order = { source: 'feed', from: Date.now(), by: 'feed', confirmed: false, ...more };
  return applyFeed(documents, catalog, buildFeed(input), order);
}

/** The model's price for input at a time; undefined is the catalogue's. */
async function findInput(at: number, own = offer?.price): Promise<string | undefined> {
  if (!offer || !own) throw new Error('no offer');
  const applied = new AppliedPrices((await readHistory(documents)).history);
  const found = applied.find('inhouse', offer.model, own, at);
  return found && getRate(found, 'input');
}

describe('the automatic feed', () => {
  const automatic = { automatic: true };

  it('repeats nothing that is applied, held back or rolled back, and applies the next change', async () => {
    expect(await apply(1.2, automatic)).toMatchObject({ applied: 1 });
    expect(await apply(1.2, automatic)).toMatchObject({ applied: null, fields: [] });
    await undoUpdate(documents, 1, 'operator');
    expect(await apply(1.2, automatic)).toMatchObject({ applied: null, fields: [] });
    expect(await apply(0.1, automatic)).toMatchObject({ applied: null, held: 2 });
    expect(await apply(0.1, automatic)).toMatchObject({ held: null });
    await undoUpdate(documents, 2, 'operator');
    expect(await apply(0.1, automatic)).toMatchObject({ held: null });
    expect(await apply(1.3, automatic)).toMatchObject({ applied: 3 });
  });
});

describe('prices in effect', () => {
  it('are those of the last update whose time has come', async () => {
    const now = Date.now();
    await apply(1.2, { from: now - 2 * day });
    await apply(1.4, { from: now + 2 * day });
    await apply(1.3, { from: now });
    expect([await findInput(now - 3 * day), await findInput(now - day)]).toEqual([undefined, '1.2']);
    expect([await findInput(now + day), await findInput(now + 3 * day)]).toEqual(['1.3', '1.4']);
    await undoUpdate(documents, 2, 'operator');
    expect(await findInput(now + 3 * day)).toBe('1.3');
    expect(new AppliedPrices((await readHistory(documents)).history).findNextChange(now - day)).toBe(now);
  });

  it('are replaced by another price of the catalogue', async () => {
    await apply(1.2);
    expect(await findInput(Date.now())).toBe('1.2');
    expect(await findInput(Date.now(), priceSchema.parse({ input: '3', output: '4' }))).toBeUndefined();
  });

  it.each([
    ['https://api.openai.com/v1', '3'],
    ['https://eu.api.openai.com/v1', '3.3'],
  ])('reach calls at %s, with the surcharge of the region', async (baseUrl, input) => {
    const { catalog: offered } = createHost([openai({ apiKey: 'k', baseUrl })]);
    const listInputs = (): unknown[] =>
      offered.find('openai/gpt-6.1-sol').map(({ price }) => getRate(price, 'input'));
    const models = { 'gpt-6.1-sol': { id: 'gpt-6.1-sol', cost: { input: 3, output: 10 } } };
    const snapshot = readSnapshot(JSON.stringify({ openai: { models } }), 'feed');
    const order = { source: 'feed', from: Date.now() - 1, by: 'feed', confirmed: true };
    expect(listInputs()).not.toEqual([input]);
    await applyFeed(documents, offered, snapshot, order);
    offered.setPrices(new AppliedPrices((await readHistory(documents)).history));
    expect(listInputs()).toEqual([input]);
  });

  it('start with their confirmation, if they were held back beyond their time', async () => {
    const before = Date.now();
    await apply(0.1, { from: before - day });
    expect(await findInput(before)).toBeUndefined();
    const { from } = await confirmUpdate(documents, 1, 'operator');
    expect(Date.parse(from)).toBeGreaterThanOrEqual(before);
  });
});

describe('two processes that write at once', () => {
  it('lose no update', async () => {
    const from = Date.now();
    documents.interrupt = () => apply(1.2, { from });
    await apply(1.3, { from });
    expect((await readHistory(documents)).history.updates.map(({ id }) => id)).toEqual([1, 2]);
    expect(await findInput(Date.now())).toBe('1.3');
  });

  it('forget only old updates that nothing depends on', async () => {
    await apply(1.2);
    for (let round = 0; round < 210; round += 1) await apply(round % 2 === 0 ? 1.3 : 1.4);
    const { updates } = (await readHistory(documents)).history;
    expect(updates).toHaveLength(200);
    expect(await findInput(Date.now())).toBe('1.4');
    await editHistory(documents, (history) => ({ next: history, result: undefined }));
    expect((await readHistory(documents)).history.updates.at(-1)?.id).toBe(211);
  });
});
