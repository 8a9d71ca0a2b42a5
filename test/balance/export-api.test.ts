/** Exports over the admin API. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exportEntries } from '../../plugins/meters/balance/operator/export.ts';
import { admin } from '../../plugins/operations/admin/index.ts';
import { findAdminUrl } from '../support/admin-url.ts';
import { openHarness } from '../support/harness.ts';
import { buildStore } from './calls.ts';
import { parseLines, joinText } from './exported.ts';

describe('the admin API', () => {
  it('serves at most four exports at once as files; a client that disconnects frees its place', async () => {
    const harness = await openHarness({ plugins: [admin({ port: 0 })] });
    const adminUrl = findAdminUrl(harness.gateway.printed);
    const secret = readFileSync(join(harness.gateway.dataFolder, 'operator-secret'), 'utf8').trim();
    const ask = (query: string, signal?: AbortSignal) =>
      fetch(`${adminUrl}/admin/entries/export${query}`, {
        headers: { authorization: `Bearer ${secret}` },
        ...(signal && { signal }),
      });
    for (let turn = 0; turn < 6; turn += 1) {
      const controller = new AbortController();
      const response = await ask('', controller.signal);
      expect(response.headers.get('content-disposition')).toBe('attachment; filename="entries.csv"');
      if (turn % 2 === 0) controller.abort();
      else await response.text();
    }
    const csv = await ask('');
    const last = Number(csv.headers.get('x-tollgate-export-last'));
    const text = await csv.text();
    expect(text).toMatch(new RegExp(`\r\n${last},.*,credit,tester,`));
    expect(text).not.toContain(harness.key);
    const jsonl = await ask(`?format=jsonl&account=tester&after=0`);
    expect(jsonl.headers.get('content-type')).toBe('application/jsonl; charset=utf-8');
    expect(parseLines(await jsonl.text()).at(-1)).toMatchObject({ number: last, account: 'tester' });
    expect(await (await ask(`?format=jsonl&after=${last}`)).text()).toBe('');
    for (const [query, param] of [
      ['format=xml', 'format'],
      ['kind=gift', 'kind'],
      ['after=-1', 'after'],
      ['colour=red', 'colour'],
    ]) {
      const refused = await ask(`?${query}`);
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({ error: { param } });
    }
    const file = join(harness.gateway.dataFolder, 'out.jsonl');
    expect(await harness.gateway.verb('entries export', [file])).toEqual({ file, last });
    const written = readFileSync(file, 'utf8');
    expect(parseLines(written).at(-1)).toMatchObject({ number: last });
    await expect(harness.gateway.verb('entries export', [file], { after: '0' })).rejects.toThrow(
      `${file} already exists: name a new file`,
    );
    expect(readFileSync(file, 'utf8')).toBe(written);
  });

  it('refuses a fifth export until one of four ends', async () => {
    const store = buildStore({
      findLastEntry: async () => 1,
      exportEntries: async () => 'x\n',
    });
    const query = { format: 'csv', after: 0 } as const;
    const four = await Promise.all([1, 2, 3, 4].map(() => exportEntries(store, query)));
    const readers = four.map(({ lines }) => lines[Symbol.asyncIterator]());
    await Promise.all(readers.map((reader) => reader.next()));
    await expect(exportEntries(store, query)).rejects.toMatchObject({ code: 'overloaded' });
    await Promise.all(readers.map((reader) => reader.return?.()));
    expect(await joinText((await exportEntries(store, query)).lines)).toContain('x\n');
  });
});
