/** Items of `input` that change settings for what follows, as Codex sends them when it compacts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getModel, openFourWires, wires, type FourWires } from '../support/four-wires.ts';
import { makeCall, makeCapable, user } from './bodies.ts';

const schema = { type: 'object', properties: {}, required: [], additionalProperties: false };
const format = { type: 'json_schema', name: 'tide', strict: true, schema };
const change = (settings: object) => ({ type: 'configuration_update', id: null, ...settings });

it('an item changes the effort and the format, and the last one that states a setting holds', () => {
  const input = [
    change({ reasoning: { effort: 'high' }, text: { format } }),
    user,
    change({ reasoning: { effort: 'low' } }),
    user,
  ];
  const call = makeCall({
    input,
    reasoning: { effort: 'medium', summary: 'auto' },
    text: { verbosity: 'low' },
  });
  expect(call.effort).toBe('low');
  expect(call.decode()).toMatchObject({
    reasoning: { effort: 'low', display: 'summary' },
    format: { type: 'schema', schema },
    verbosity: 'low',
  });
});

it('an item of a wrong shape is refused at its place', () => {
  expect(() => makeCall({ input: [user, change({ reasoning: { effort: 3 } })] })).toThrow(
    expect.objectContaining({
      details: expect.objectContaining({ param: 'input[1].reasoning.effort' }),
    }),
  );
});

it('only a vendor that compacts by itself gets the item in its own form', () => {
  const call = makeCall({ input: [user, change({ reasoning: { effort: 'low' } })] });
  const suits = (compaction: boolean) => call.suits?.(makeCapable({ wire: { responses: { compaction } } }));
  expect([suits(true), suits(false)]).toEqual([true, false]);
});

describe('a change of the effort, for any provider', () => {
  let harness: FourWires;
  beforeAll(async () => {
    harness = await openFourWires();
  });
  afterAll(() => harness.close());

  it.each(wires)('reaches %s as if the request stated it', async (wire) => {
    const { id } = getModel(wire, 'thinking');
    const input = [user, change({ reasoning: { effort: 'high' } }), { role: 'user', content: 'And now?' }];
    const ask = (body: object) => harness.ask('responses', id, body);
    const changed = await ask({ input, reasoning: { effort: 'low' } });
    expect([changed.status, changed.headers.get('x-tollgate-dropped')]).toEqual([200, null]);
    const spoken = input.filter((item) => 'role' in item);
    const stated = await ask({ input: spoken, reasoning: { effort: 'high' } });
    const low = await ask({ input: spoken, reasoning: { effort: 'low' } });
    expect(JSON.stringify(changed.sent)).not.toMatch(/configuration_update|"role":"(assistant|model)"/);
    expect(changed.sent).toEqual(stated.sent);
    expect(changed.sent).not.toEqual(low.sent);
  });
});
