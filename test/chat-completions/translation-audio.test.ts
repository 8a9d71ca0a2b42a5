import { expect, it } from 'vitest';
import { protocol } from '../../plugins/protocols/chat-completions/index.ts';
import { decodeAll } from '../contract/replies.ts';
import { file, user } from '../support/turns.ts';
import { makeCall, makeModel, encode } from './bodies.ts';

const speaking = makeModel({ output: ['text', 'audio'] });

it('audio is requested with a voice, in samples and with text, as this protocol requires', () => {
  const { body, lost } = encode({ modalities: ['audio'] }, speaking);
  expect(body).toMatchObject({ modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } });
  expect(lost).toEqual(['modalities']);
  expect(encode({ modalities: ['text', 'audio'] })).toMatchObject({
    body: expect.not.objectContaining({ audio: expect.anything() }),
    lost: ['modalities'],
  });
});

it.each([
  [{ type: 'base64', data: 'AA' }, 'audio/flac'],
  [{ type: 'url', url: 'https://x.example/a.wav' }, 'audio/wav'],
] as const)('audio of another kind, or by address, refuses the call: %j', (source, mediaType) => {
  expect(() =>
    encode({
      turns: [user(file('audio', { ...source }, { mediaType }))],
    }),
  ).toThrow(/WAV or MP3/);
});

it.each([
  [{ audio: { voice: 'ash', format: 'mp3' }, modalities: ['text', 'audio'] }, 'audio/mpeg'],
  [{}, undefined],
] as const)('audio of a reply to %j is %s', (fields, mediaType) => {
  const reply = {
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: null, audio: { id: 'a1', data: 'AAAA', transcript: 'Hi.' } },
        finish_reason: 'stop',
      },
    ],
  };
  const events = protocol.upstream.decodeReply(reply, makeCall(fields));
  expect(events.find((event) => event.type === 'block-start')).toMatchObject({
    kind: 'audio',
    id: 'a1',
    ...(mediaType === undefined ? {} : { mediaType }),
  });
  expect(JSON.stringify(events).includes('mediaType')).toBe(mediaType !== undefined);
});

it('audio of a reply in parts is merged without touching the prototype of objects', () => {
  const decoder = protocol.upstream.decodeEvents(makeCall({ stream: true }));
  const chunks = ['{"id":"a1","data":"AA"}', '{"data":"AA","__proto__":{"polluted":true}}'].map(
    (audio) => `{"choices":[{"index":0,"delta":{"audio":${audio}},"finish_reason":null}]}`,
  );
  const events = decodeAll(
    decoder,
    [...chunks, '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}', '[DONE]'].map((data) => ({
      event: undefined,
      data,
    })),
  );
  const reply = protocol.client.encodeReply(events, {
    id: 'k',
    model: 'openai/gpt-audio',
    created: 1,
    call: makeCall(),
  });
  expect(reply).toMatchObject({ choices: [{ message: { audio: { id: 'a1', data: 'AAAA' } } }] });
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
});
