/**
 * What models are sent whose vendors fix their sampling or take no schemas: `test/golden/vendors` has the
 * requests, of the vendor's own protocol and of another.
 */
import { describe, expect, it } from 'vitest';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { readCall, type Wire } from '../support/families.ts';
import { expectSnapshot } from '../support/snapshot.ts';
import { catalogues, requireModel } from './catalogues.ts';

const schema = { type: 'object', properties: { port: { type: 'string' } }, required: ['port'] };

/** A request that states what not every vendor takes. */
const bodies = {
  'chat-completions': {
    model: 'a/b',
    messages: [{ role: 'user', content: 'Which port?' }],
    temperature: 0.3,
    top_p: 0.5,
    presence_penalty: 0.1,
    frequency_penalty: 0.1,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
  },
  messages: {
    model: 'a/b',
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'Which port?' }],
    temperature: 0.3,
    top_p: 0.5,
    output_config: { format: { type: 'json_schema', schema } },
  },
} as const satisfies Partial<Record<Wire, object>>;

const models = [
  ['deepseek', 'deepseek-flash'],
  ['deepseek', 'deepseek-v4-pro'],
  ['zai', 'glm-5.3'],
  ['moonshot', 'kimi-k2.6'],
  ['moonshot', 'kimi-k3.1-pro'],
] as const;

describe.each(models)('%s is sent, for %s,', (vendor, upstream) => {
  const model = requireModel(vendor, upstream);

  it.each(['chat-completions', 'messages'] as const)('what it takes of a client of %s', (wire) => {
    const { body, losses, expects } = protocol.upstream.encodeRequest(
      readCall(wire, bodies[wire]).decode(),
      model,
      undefined,
      wire === 'chat-completions',
    );
    const sent = { body, lost: losses.map(({ path, reason }) => `${path}: ${reason}`), expects };
    const file = `../golden/vendors/${vendor}.${upstream}.${wire}.json`;
    expectSnapshot(new URL(file, import.meta.url), `${JSON.stringify(sent, undefined, 2)}\n`);
  });

  it('the body of a client of chat completions unchanged, only if that takes it', () => {
    const { model: name, messages } = bodies['chat-completions'];
    const { temperature, response_format: format } = bodies['chat-completions'];
    const suits = (more: object): boolean =>
      readCall('chat-completions', { model: name, messages, ...more }).suits?.(model) ?? true;
    expect([suits({}), suits({ temperature }), suits({ response_format: format })]).toEqual([
      true,
      vendor !== 'moonshot',
      vendor === 'moonshot',
    ]);
    expect(suits({ response_format: { type: 'json_object' } })).toBe(true);
  });
});

it.each(['deepseek', 'zai', 'minimax'])(
  'no model of %s is sent a schema, which it would refuse or ignore',
  (vendor) => {
    expect(catalogues.get(vendor)?.filter(({ capabilities }) => capabilities.structuredOutput)).toEqual([]);
  },
);

it('no model of Moonshot is sent settings of sampling, which Kimi fixes', () => {
  for (const { id, capabilities } of catalogues.get('moonshot') ?? [])
    expect([id, capabilities.sampling]).toEqual([id, false]);
});
