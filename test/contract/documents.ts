/** Texts that all processes of a ledger agree on. */
import { expect, it } from 'vitest';
import type { Bench } from './bench.ts';

export function testDocuments({ store }: Bench): void {
  const write = (name: string, text: string, replaces: number) =>
    store().writeDocument({ name, text, replaces });

  it('documents have the text that was written last, and a version that counts the writes', async () => {
    expect(await store().readDocument('kept')).toBeUndefined();
    expect(await write('kept', 'one', 0)).toBe(true);
    expect(await write('kept', 'zwö €', 1)).toBe(true);
    expect(await write('other', 'text', 0)).toBe(true);
    expect(await store().readDocument('kept')).toEqual({ version: 2, text: 'zwö €' });
  });

  it('documents are not written by one that has read another version', async () => {
    expect(await write('raced', 'one', 0)).toBe(true);
    for (const replaces of [0, 2, 5]) expect(await write('raced', 'late', replaces)).toBe(false);
    expect(await write('never', 'made', 3)).toBe(false);
    expect(await store().readDocument('raced')).toEqual({ version: 1, text: 'one' });
  });

  it('documents take one of many writes at once', async () => {
    const written = await Promise.all(
      Array.from({ length: 20 }, (_, index) => write('many', `text ${index}`, 0)),
    );
    expect(written.filter(Boolean)).toHaveLength(1);
  });
}
