/** A client that demands a search, as `tool_choice: { type: "web_search" }`, of a model of another wire. */
import { beforeAll, expect, it } from 'vitest';
import { getModel, openFourWires, type FourWires } from '../support/four-wires.ts';

let harness: FourWires;
beforeAll(async () => {
  harness = await openFourWires();
});

const find = { type: 'function', name: 'find', parameters: { type: 'object', properties: {} } };

it.each(['web_search', 'web_search_preview'])('a choice of %s demands the search of Claude', async (type) => {
  const body = { input: 'What is new?', tools: [find, { type }], tool_choice: { type } };
  const { id } = getModel('messages', 'searching');
  const { status, headers, sent } = await harness.ask('responses', id, body);
  expect([status, headers.get('x-tollgate-dropped')]).toEqual([200, null]);
  expect(sent).toMatchObject({ tool_choice: { type: 'tool', name: 'web_search' } });
});
