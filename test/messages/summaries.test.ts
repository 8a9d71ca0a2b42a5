/** A summary that Anthropic wrote takes the place of the messages before it, and a client keeps only that. */
import { beforeAll, expect, it } from 'vitest';
import { sendOwn } from '../support/families.ts';
import { getModel, openFourWires, wires, type FourWires } from '../support/four-wires.ts';

let harness: FourWires;
beforeAll(async () => {
  harness = await openFourWires();
});

const summary = { type: 'compaction', content: 'The harbour is calm.', signature: 'c2ln' };
const messages = [
  { role: 'assistant', content: [summary] },
  { role: 'user', content: 'Go on.' },
];

it.each(wires.filter((wire) => wire !== 'messages'))('is sent to %s as a text', async (wire) => {
  const body = { max_tokens: 90, messages };
  const { status, headers, sent } = await harness.ask('messages', getModel(wire).id, body);
  expect([status, headers.get('x-tollgate-dropped')]).toEqual([200, 'messages[0].content[0].signature']);
  expect(JSON.stringify(sent)).toContain(summary.content);
});

it('is restored for Anthropic', () => {
  const { body, lost } = sendOwn('messages', { model: 'a/b', max_tokens: 90, messages });
  expect([body, lost]).toMatchObject([{ messages: [{ content: [summary] }, {}] }, []]);
});
