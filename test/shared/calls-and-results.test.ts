import { expect, it } from 'vitest';
import type { Block, Turn } from '../../core/index.ts';
import { makeCallIdsUnique } from '../../plugins/shared/wire-kit/calls-and-results.ts';
import { expectLinear } from '../support/linear.ts';

const call = (id: string): Block => ({ type: 'tool-call', id, name: 'look', arguments: '{}' });
const listCallIds = (turns: readonly Turn[]): string[] =>
  turns.flatMap(({ blocks }) => blocks.map((block) => (block.type === 'tool-call' ? block.id : '')));
const say = (...blocks: readonly Block[]): Turn => ({ role: 'assistant', blocks: [...blocks] });

it('the ids of calls are numbered after the existing ones', () => {
  expect(
    listCallIds(makeCallIdsUnique([say(call('a')), say(call('a_2')), say(call('a')), say(call('a'))])),
  ).toEqual(['a', 'a_2', 'a_3', 'a_4']);
});

it('the ids of calls are replaced in linear time if thousands are the same', async () => {
  await expectLinear((count) => {
    const ids = listCallIds(makeCallIdsUnique(Array.from({ length: count }, () => say(call('a')))));
    expect(new Set(ids).size).toBe(count);
  }, 2000);
});
