/** Lookups of providers' names that wait at the same time. */
import type { LookupFunction } from 'node:net';
import { expect, it, vi } from 'vitest';
import { shareLookups } from '../../core/upstream/agents.ts';

type Answer = Parameters<LookupFunction>[2];

/** A name server that answers when it is made to. */
function holdLookups(): { readonly held: [name: string, answer: Answer][]; readonly look: LookupFunction } {
  const held: [string, Answer][] = [];
  return { held, look: (name, _, answer) => void held.push([name, answer]) };
}

it('asks once for all connections that wait for a name, and again for later ones', async () => {
  const { held, look } = holdLookups();
  const lookup = shareLookups(look);
  const find = (name: string, family = 0): Promise<unknown> =>
    new Promise((resolve) => lookup(name, { family }, (_, address) => resolve(address)));
  const [first, second, other, narrow] = [find('slow'), find('slow'), find('quick'), find('slow', 6)];
  expect(held.map(([name]) => name)).toEqual(['slow', 'quick', 'slow']);
  for (const [index, [, answer]] of held.splice(0).entries()) answer(null, `10.0.0.${index}`, 4);
  expect(await Promise.all([first, second, other, narrow])).toEqual([
    '10.0.0.0',
    '10.0.0.0',
    '10.0.0.1',
    '10.0.0.2',
  ]);
  void find('slow');
  expect(held).toHaveLength(1);
});

it('gives the failure of a lookup to all that wait for it', async () => {
  const { held, look } = holdLookups();
  const lookup = shareLookups(look);
  const failures = [1, 2].map(
    () => new Promise((resolve) => lookup('gone', {}, (error) => resolve(error?.code))),
  );
  for (const [, answer] of held) answer(Object.assign(new Error('gone'), { code: 'ENOTFOUND' }), '', 4);
  expect(await Promise.all(failures)).toEqual(['ENOTFOUND', 'ENOTFOUND']);
});

it('gives the last answer of a name if the next takes long, for an hour', () => {
  vi.useFakeTimers();
  try {
    const { held, look } = holdLookups();
    const lookup = shareLookups(look);
    const answers: unknown[] = [];
    const ask = (): void => lookup('house', {}, (error, address) => answers.push(error?.code ?? address));
    const reply = (address: string): void => held.splice(0).forEach(([, answer]) => answer(null, address, 4));
    ask();
    vi.advanceTimersByTime(5000);
    reply('10.0.0.1');
    ask();
    vi.advanceTimersByTime(300);
    ask();
    expect(answers).toEqual(['10.0.0.1']);
    vi.advanceTimersByTime(300);
    expect(answers).toEqual(['10.0.0.1', '10.0.0.1']);
    expect(held).toHaveLength(1);
    reply('10.0.0.2');
    expect(answers).toEqual(['10.0.0.1', '10.0.0.1', '10.0.0.2']);
    vi.advanceTimersByTime(60 * 60 * 1000);
    ask();
    vi.advanceTimersByTime(5000);
    expect(answers).toHaveLength(3);
    for (const [, answer] of held) answer(Object.assign(new Error('away'), { code: 'EAI_AGAIN' }), '', 4);
    expect(answers.at(-1)).toBe('EAI_AGAIN');
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
