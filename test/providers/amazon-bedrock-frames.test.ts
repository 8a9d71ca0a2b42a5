/** Frames of bytes to events: cut anywhere, damaged anywhere, and exceptions in the protocol's words. */
import { expect, it } from 'vitest';
import { isGatewayError } from '../../core/index.ts';
import { toServerSentEvents } from '../../plugins/providers/amazon-bedrock/frames.ts';
import { buildChunkFrame, buildEventFrame, buildExceptionFrame } from '../support/cloud/event-frames.ts';

async function* yieldChunks(...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function read(...chunks: readonly Uint8Array[]): Promise<string> {
  return Buffer.concat(await Array.fromAsync(toServerSentEvents(yieldChunks(...chunks)))).toString();
}

const start =
  '{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":12345678901234567890}}}';
const delta = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Ål 🙂"}}';
const stop = '{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":3}}';
const stream = Buffer.concat([start, delta, stop].map(buildChunkFrame));
const events =
  `event: message_start\ndata: ${start}\n\nevent: content_block_delta\ndata: ${delta}\n\n` +
  'event: message_stop\ndata: {"type":"message_stop"}\n\n';

it('a stream of frames is the same events wherever it is cut', async () => {
  for (let at = 0; at <= stream.length; at += 1)
    expect(await read(stream.subarray(0, at), stream.subarray(at)), `cut at ${at}`).toBe(events);
  expect(await read(...Array.from(stream, (byte) => Uint8Array.of(byte)))).toBe(events);
});

it('a stream of frames is an error, never an event, wherever one bit of a frame is wrong', async () => {
  const frame = buildChunkFrame(delta);
  for (let at = 0; at < frame.length; at += 1) {
    const damaged = Buffer.from(frame);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    // A frame that claims to be longer than it is never ends: the reply is cut short, and nothing of it
    // reaches the client.
    const message = await read(damaged).catch((error: unknown) =>
      isGatewayError(error) ? error.code : 'thrown',
    );
    expect([['upstream_failed', ''].includes(message), message], `at ${at}`).toEqual([true, message]);
    if (at >= 4) expect(message, `at ${at}`).toBe('upstream_failed');
  }
});

it('a stream of frames gives what was whole before the damage', async () => {
  const damaged = Buffer.concat([buildChunkFrame(start), Buffer.alloc(40, 7)]);
  const messages: string[] = [];
  const reading = (async () => {
    for await (const event of toServerSentEvents(yieldChunks(damaged)))
      messages.push(Buffer.from(event).toString());
  })();
  await expect(reading).rejects.toMatchObject({ code: 'upstream_failed' });
  expect(messages).toEqual([`event: message_start\ndata: ${start}\n\n`]);
});

it.each([
  ['throttlingException', 'rate_limit_error'],
  ['serviceUnavailableException', 'overloaded_error'],
  ['modelTimeoutException', 'timeout_error'],
  ['validationException', 'invalid_request_error'],
  ['modelStreamErrorException', 'api_error'],
  ['internalServerException', 'api_error'],
])('a stream of frames reports %s as %s', async (name, type) => {
  expect(await read(buildExceptionFrame(name, 'Slow down.'))).toBe(
    `event: error\ndata: {"type":"error","error":{"type":"${type}","message":"Slow down."}}\n\n`,
  );
});

it('a stream of frames reports an error that is not a published one', async () => {
  const frame = buildEventFrame(
    { ':message-type': 'error', ':error-code': 'Odd', ':error-message': 'Broken.' },
    '',
  );
  expect(await read(frame)).toBe(
    'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"Broken."}}\n\n',
  );
});

it('a stream of frames passes over events that say nothing of the reply', async () => {
  expect(
    await read(
      buildEventFrame({ ':message-type': 'event', ':event-type': 'initial-response' }, '{}'),
      buildChunkFrame(delta),
    ),
  ).toContain('event: content_block_delta\n');
});

it.each(['no JSON', '{"p":"abc"}', '{"bytes":"bm8ganNvbg=="}'])(
  'a stream of frames refuses a chunk that holds %s',
  async (payload) => {
    await expect(
      read(buildEventFrame({ ':message-type': 'event', ':event-type': 'chunk' }, payload)),
    ).rejects.toMatchObject({ code: 'upstream_failed' });
  },
);
