import { describe, expect, it } from 'vitest';
import { splice } from '../../core/index.ts';
import { makeModel, protocol, version } from './bodies.ts';

const { capabilities } = makeModel();

function retarget(text: string, outputLimit?: number, operation: 'generate' | 'count' = 'generate'): string {
  const call = protocol.client.read(JSON.parse(text), text, { operation }, version);
  return splice(text, protocol.upstream.retarget({ call, model: 'claude-x', outputLimit, capabilities }));
}

describe('the verbatim lane of messages', () => {
  const text =
    '{ "max_tokens" : 8000, "model":"anthropic/claude-test","temperature":1.0, "messages":[{"role":"user",' +
    '"content":"\\u0061"}],"x":12345678901234567890, "thinking":{"type":"enabled", "budget_tokens":4096}}';

  it("changes the model's name and no other byte", () => {
    expect(retarget(text)).toBe(text.replace('anthropic/claude-test', 'claude-x'));
    expect(retarget(text, 8000)).toBe(text.replace('anthropic/claude-test', 'claude-x'));
  });

  it('lowers the limit, and the reasoning budget with it', () => {
    expect(JSON.parse(retarget(text, 5000))).toMatchObject({
      max_tokens: 5000,
      thinking: { budget_tokens: 4096 },
    });
    expect(JSON.parse(retarget(text, 4000))).toMatchObject({
      max_tokens: 4000,
      thinking: { type: 'enabled', budget_tokens: 3000 },
    });
    expect(JSON.parse(retarget(text, 900))).toMatchObject({
      max_tokens: 900,
      thinking: { type: 'disabled' },
    });
  });

  it.each(['{"only":["anthropic"]}', 'null'])(
    'keeps the `provider` object from the provider: %s',
    (provider) => {
      const message = text.replace('{ ', `{ "provider":${provider}, `);
      expect(retarget(message)).toBe(text.replace('anthropic/claude-test', 'claude-x'));
    },
  );

  it('states no limit in a count', () => {
    const count = '{"model":"anthropic/claude-test","messages":[{"role":"user","content":"x"}]}';
    expect(retarget(count, 50, 'count')).toBe(count.replace('anthropic/claude-test', 'claude-x'));
  });

  it('sends the version and the betas the client asked for, and none of its other headers', () => {
    const { buildHeaders } = protocol.upstream;
    expect(
      buildHeaders({
        'partner-version': '2026-10-21',
        'anthropic-beta': 'a,b',
        'x-api-key': 'k',
        cookie: 'c',
      }),
    ).toEqual({ 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a,b' });
    expect(buildHeaders({})).toEqual({ 'anthropic-version': '2023-06-01' });
  });
});
