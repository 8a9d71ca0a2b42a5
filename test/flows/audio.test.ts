/**
 * Audio, in and out: byte for byte to a provider of the client's own protocol, and between the two protocols
 * that have it.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { findCount } from '../../core/index.ts';
import { getModel, openFourWires, type Crossing, type FourWires, type Wire } from '../support/four-wires.ts';
import { isObject, type Json } from '../support/json.ts';
import { readObjects, joinStream } from '../support/listen.ts';

const heard = 'UklGRiQAAABXQVZFZm10IA==';
/** Six samples of sixteen bits, in pieces that end where base64 can be joined. */
const sound = { data: ['AQACAAMA', 'BAAFAAYA'], transcript: 'High water at five.' };
const samples = sound.data.join('');

type Client = 'chat-completions' | 'generate-content';

const asks: Readonly<Record<Client, object>> = {
  'chat-completions': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Answer this.' },
          { type: 'input_audio', input_audio: { data: heard, format: 'wav' } },
        ],
      },
    ],
    modalities: ['text', 'audio'],
    audio: { voice: 'alloy', format: 'pcm16' },
  },
  'generate-content': {
    contents: [
      {
        role: 'user',
        parts: [{ text: 'Answer this.' }, { inlineData: { mimeType: 'audio/wav', data: heard } }],
      },
    ],
    generationConfig: { responseModalities: ['AUDIO'] },
  },
};

/** The audio a client received, put together: its samples, and its declared format. */
function joinSound(client: Client, reply: Json): { readonly data: string; readonly about: unknown } {
  if (client === 'chat-completions') {
    const message = readObjects(reply.choices)[0]?.message;
    const audio = isObject(message) && isObject(message.audio) ? message.audio : {};
    return { data: String(audio.data), about: [typeof audio.id, audio.transcript] };
  }
  const content = readObjects(reply.candidates)[0]?.content;
  const parts = isObject(content)
    ? readObjects(content.parts).flatMap(({ inlineData }) => (isObject(inlineData) ? [inlineData] : []))
    : [];
  return {
    data: Buffer.concat(parts.map(({ data }) => Buffer.from(String(data), 'base64'))).toString('base64'),
    about: [...new Set(parts.map(({ mimeType }) => mimeType))],
  };
}

let harness: FourWires;
beforeAll(async () => {
  harness = await openFourWires();
});

async function ask(client: Client, wire: Wire, stream: boolean): Promise<Crossing> {
  const { id, upstream } = getModel(wire, 'speaking');
  harness.vendors[wire].script(upstream, { sound });
  return harness.ask(client, id, asks[client], stream);
}

const pairs = [
  ['chat-completions', 'chat-completions'],
  ['chat-completions', 'generate-content'],
  ['generate-content', 'chat-completions'],
  ['generate-content', 'generate-content'],
] as const;

describe.each(pairs)('audio from %s to %s', (client, wire) => {
  it.each([false, true])('reaches the model and returns to the client, streamed: %s', async (stream) => {
    const crossing = await ask(client, wire, stream);
    expect([crossing.status, crossing.end.type], crossing.text).toEqual([200, 'answered']);
    expect(JSON.stringify(crossing.sent)).toContain(heard);
    const { data, about } = joinSound(
      client,
      stream ? joinStream(client, crossing.text) : JSON.parse(crossing.text),
    );
    expect(data).toBe(samples);
    const transcript = wire === 'chat-completions' ? sound.transcript : '';
    expect(about).toEqual(
      client === 'chat-completions' ? ['string', transcript] : ['audio/L16;codec=pcm;rate=24000'],
    );
  });

  it('is counted as audio, and what cannot cross is reported', async () => {
    const { end } = await ask(client, wire, false);
    if (end.type !== 'answered') throw new Error(end.type);
    expect(findCount(end.charge?.uses ?? [], 'output', 'audio')).toBe(50);
    const expectedLosses = {
      'chat-completions': wire === client ? [] : ['audio'],
      'generate-content':
        wire === client ? [] : ['generationConfig.responseModalities', 'reply.audio.transcript'],
    };
    expect(end.losses.map(({ path }) => path)).toEqual(expectedLosses[client]);
  });
});

it.each([
  ['responses', 'audio/flac'],
  ['chat-completions', 'audio/flac'],
  ['messages', 'audio/wav'],
] as const)(
  'audio is refused before a provider of %s sees it as %s, and the error names the part',
  async (wire, mimeType) => {
    const parts = [{ text: 'What is this?' }, { inlineData: { mimeType, data: heard } }];
    const { status, text, sent } = await harness.ask('generate-content', getModel(wire).id, {
      contents: [{ role: 'user', parts }],
    });
    expect([status, sent]).toEqual([400, undefined]);
    expect(text).toContain('contents[0].parts[1]');
  },
);

it('audio an answer of nothing but audio is refused for a model that cannot speak', async () => {
  const { contents: _contents, ...settings } = { contents: [], ...asks['generate-content'] };
  const { status, text } = await harness.ask('generate-content', getModel('messages').id, {
    contents: [{ role: 'user', parts: [{ text: 'Ahoy' }] }],
    ...settings,
  });
  expect(status).toBe(400);
  expect(text).toMatch(/audio/);
});
