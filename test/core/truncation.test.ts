import { describe, expect, it } from 'vitest';
import type { Turn } from '../../core/index.ts';
import { withoutOldestExchange } from '../../core/canonical/truncation.ts';

const said = (role: Turn['role'], text: string): Turn => ({ role, blocks: [{ type: 'text', text }] });
const called: Turn = { role: 'assistant', blocks: [{ type: 'tool-call', id: 'c', name: 'f', arguments: '{}' }] };
const result = (role: 'tool' | 'user'): Turn => ({ role, blocks: [{ type: 'tool-result', callId: 'c', content: [] }] });

function shorten(turns: Turn[]): { kept: Turn[]; lost: string[] } | undefined {
  const shortened = withoutOldestExchange({ model: 'a/b', stream: false, turns });
  return shortened && { kept: shortened.request.turns, lost: shortened.losses.map(({ path }) => path) };
}

describe('a conversation that is too long', () => {
  it('loses its oldest exchange, and keeps what instructs', () => {
    const system = said('system', 's');
    const last = said('user', '2');
    expect(shorten([system, said('user', '1'), said('assistant', 'a'), last])).toEqual({ kept: [system, last], lost: ['turns[1]', 'turns[2]'] });
    const within = said('developer', 'd');
    expect(shorten([said('user', '1'), within, said('assistant', 'a'), last])).toEqual({ kept: [within, last], lost: ['turns[0]', 'turns[2]'] });
  });

  it.each(['tool', 'user'] as const)('loses a call with its result, in a turn of the %s', (role) => {
    const last = said('user', '2');
    expect(shorten([said('user', '1'), called, result(role), said('assistant', 'a'), last])?.kept).toEqual([last]);
  });

  it('is left as it is where one exchange is all there is', () => {
    expect(shorten([said('system', 's'), said('user', '1'), called, result('tool')])).toBeUndefined();
    expect(shorten([said('system', 's')])).toBeUndefined();
    expect(shorten([])).toBeUndefined();
  });
});
