/**
 * Every golden reply, as a client of each family gets it when it is translated, against the types that the
 * family's vendor publishes: JSON replies, each event of a stream, and the response objects inside events.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { GatewayError, type CanonicalEvent, type ClientCall, type ReplyContext } from '../../core/index.ts';
import { readStream } from '../contract/replies.ts';
import { families, readCall, wires, type Wire } from '../support/families.ts';
import { decodeGolden, listGolden, readGolden } from '../support/golden.ts';
import { getPublishedTypes, type PublishedTypes } from '../support/published-types.ts';

const parameters = { type: 'object', properties: { x: { type: 'string' } } };
const question = { role: 'user', content: 'Ahoy' };

/** For each family a call that says the least, and one whose reply says its settings again. */
const calls: Readonly<Record<Wire, readonly object[]>> = {
  'chat-completions': [
    { model: 'a/b', messages: [question] },
    {
      model: 'a/b',
      messages: [question],
      tools: [{ type: 'function', function: { name: 'look', parameters } }],
      logprobs: true,
    },
  ],
  responses: [
    { model: 'a/b', input: 'Ahoy' },
    {
      model: 'a/b',
      input: [question],
      instructions: 'Be brief.',
      reasoning: { effort: 'low' },
      metadata: { voyage: '12' },
      max_output_tokens: 100,
      user: 'u',
      service_tier: 'flex',
      text: { format: { type: 'json_schema', name: 'tides', schema: parameters }, verbosity: 'low' },
      truncation: 'auto',
      store: false,
      top_logprobs: 2,
      temperature: 0.5,
      tool_choice: 'required',
      tools: [
        { type: 'function', name: 'look', parameters },
        { type: 'function', name: 'bare' },
        { type: 'custom', name: 'patch' },
        { type: 'web_search' },
        {
          type: 'namespace',
          name: 'ship',
          description: 'Its parts.',
          tools: [{ type: 'function', name: 'sail', parameters }],
        },
      ],
    },
  ],
  messages: [{ model: 'a/b', max_tokens: 1000, messages: [question] }],
  'generate-content': [{ contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }] }],
};

function makeContext(call: ClientCall): ReplyContext {
  return {
    id: 'ab12',
    model: 'owner/model',
    created: 1_790_000_000,
    call: {
      ...call,
      usageWanted: true,
      decode: () => call.decode(),
      ...('settings' in call ? { settings: call.settings } : {}),
    },
  };
}

/** The golden replies of every family, each as the canonical events it decodes to. */
function* readReplies(): Generator<readonly [name: string, events: readonly CanonicalEvent[]]> {
  for (const own of wires) {
    const { protocol } = families[own];
    const read = (name: string, file: string): unknown => JSON.parse(readGolden(own, name, file));
    for (const name of listGolden(own, 'reply.json'))
      yield [
        `${own}/${name}`,
        protocol.upstream.decodeReply(read(name, 'reply.json'), readCall(own, read(name, 'request.json'))),
      ];
    for (const name of listGolden(own, 'reply.sse'))
      yield [
        `${own}/${name}, streamed`,
        decodeGolden(protocol, name, readCall(own, read(name, 'request.json'), true)),
      ];
  }
}

const replies = [...readReplies()];

/** The events of a stream, but for those that no type declares. */
function parseEvents(text: string): unknown[] {
  return readStream(Buffer.from(text))
    .filter(({ event, data }) => event !== 'ping' && data !== '[DONE]')
    .map(({ data }): unknown => JSON.parse(data));
}

describe.each(wires)('what a client of %s gets', (client) => {
  const { protocol } = families[client];
  let types: PublishedTypes;
  beforeAll(() => void (types = getPublishedTypes(client)), 600_000);

  it.each(replies)('fits the types its SDK publishes: %s', (_, events) => {
    for (const body of calls[client]) {
      const context = makeContext(readCall(client, body, true));
      const whole: unknown = JSON.parse(JSON.stringify(protocol.client.encodeReply(events, context)));
      expect(types.reply(whole)).toEqual([]);
      const encoder = protocol.client.encodeEvents(context);
      for (const event of parseEvents(events.map((each) => encoder.push(each)).join('')))
        expect([event, types.event(event)]).toEqual([event, []]);
    }
  });
});

it('a stream of responses that breaks fits the published types too', () => {
  const types = getPublishedTypes('responses');
  const { client } = families.responses.protocol;
  const error = new GatewayError('upstream_failed', 'The provider broke off.');
  for (const body of calls.responses) {
    const call = readCall('responses', body, true);
    for (const event of parseEvents(client.encodeStreamError(error, call, false)))
      expect([event, types.event(event)]).toEqual([event, []]);
  }
}, 600_000);
