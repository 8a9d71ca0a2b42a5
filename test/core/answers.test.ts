/** A call that is answered again has one result: the last of them, in the place of the first. */
import { describe, expect, it } from 'vitest';
import { answeredOnce } from '../../core/answers.ts';
import type { Block, Turn } from '../../core/index.ts';

const call = (id: string): Turn => ({ role: 'assistant', blocks: [{ type: 'tool-call', id, name: 'look', arguments: '{}' }] });
const result = (callId: string, text: string, at = text): Block => ({ type: 'tool-result', callId, content: [{ type: 'text', text }], at });
const told = (...blocks: Block[]): Turn => ({ role: 'user', blocks });

function answered(...turns: Turn[]): { results: unknown[]; roles: string[]; lost: string[] } {
  const { request, losses } = answeredOnce({ model: 'a/b', stream: false, turns });
  const results = request.turns.flatMap(({ blocks }) => blocks.flatMap((block) => (block.type === 'tool-result' ? block.at : [])));
  return { results, roles: request.turns.map(({ role }) => role), lost: losses.map(({ path }) => path) };
}

describe('a call that is answered again', () => {
  it('has its last result, where the first stood, and the others are told by their places', () => {
    expect(answered(call('a'), told(result('a', 'one')), told(result('a', 'two')), told({ type: 'text', text: 'Well?' }, result('a', 'three')))).toEqual({
      results: ['three'], roles: ['assistant', 'user', 'user'], lost: ['one', 'two'],
    });
  });

  it('is another call where a vendor numbers the calls of every reply anew, be they parallel', () => {
    const turns = [call('a'), call('a'), told(result('a', 'one'), result('a', 'two')), call('a'), told(result('a', 'three'))];
    expect(answered(...turns)).toMatchObject({ results: ['one', 'two', 'three'], lost: [] });
    expect(answered(...turns, told(result('a', 'four')))).toMatchObject({ results: ['one', 'two', 'four'], lost: ['three'] });
  });

  it('is left alone where it never is', () => {
    const request = { model: 'a/b', stream: false, turns: [call('a'), told(result('a', 'one'), result('b', 'two')), { role: 'user' as const, blocks: [] }] };
    expect(answeredOnce(request).request).toBe(request);
  });
});
