import { describe, expect, it } from 'vitest';
import type { ClientCall, Protocol } from '../../core/index.ts';
import { createProtocol } from '../../plugins/protocols/images/index.ts';
import { testProtocol } from '../contract/protocol.ts';
import { isObject } from '../support/json.ts';
import { requireModel, protocol, readForm, readJson } from './bodies.ts';
import { makePng } from './gallery.ts';

testProtocol({
  protocol,
  cases: new URL('../golden/images/', import.meta.url),
  model: (body) => requireModel(isObject(body) ? String(body.model) : ''),
  sent: (body, { upstream }) => ({ ...(isObject(body) ? body : {}), model: upstream }),
});

/** The details of the input's usage, of a JSON reply and of a stream. */
function encodeDetails({ client }: Protocol, call: ClientCall): unknown[] {
  const context = { id: 'a', model: 'openai/gpt-image-1.5', created: 1, call };
  const events = [
    { type: 'response-start', id: 'a', model: 'b', created: 1 },
    { type: 'block-start', candidate: 0, block: 0, kind: 'image' },
    { type: 'block-delta', candidate: 0, block: 0, text: 'AAAA' },
    { type: 'block-end', candidate: 0, block: 0 },
    { type: 'usage', usage: { input: 5, output: 7 } },
    { type: 'response-end' },
  ] as const;
  const encoder = client.encodeEvents(context);
  const stream = events.map((event) => encoder.push(event)).join('');
  return [JSON.stringify(client.encodeReply(events, context)), stream].map(
    (text) => /"input_tokens_details":(\{[^}]*\})/.exec(text)?.[1],
  );
}

describe('the usage of the input', () => {
  const edit = readForm({}, [['image', makePng()]]);
  it.each([
    ['of a generation has no pictures by the letter of the interface', 'required', readJson({}), ''],
    [
      'of a generation says that there are no pictures, for the clients of today',
      'optional',
      readJson({}),
      0,
    ],
    ['of an edit has its pictures by the letter of the interface', 'required', edit, 0],
    ['of an edit has its pictures for the clients of today', 'optional', edit, 0],
  ] as const)('counts pictures: the input %s', (_, quality, call, pictures) => {
    const details = `{"text_tokens":5${pictures === '' ? '' : `,"image_tokens":${pictures}`}}`;
    expect(encodeDetails(createProtocol({ quality }), call)).toEqual([details, details]);
  });
});
