import { describe, expect, it } from 'vitest';
import { toText as pieceText, type Piece } from '../../core/crossing/pieces.ts';
import { ReplyBudget, ReplyMemory } from '../../core/http/reply-memory.ts';
import { freePrice, type Provider } from '../../core/index.ts';
import { crossReply } from '../../core/lanes.ts';
import { Tally } from '../../core/tally.ts';
import { protocol as chat } from '../../plugins/protocols/chat-completions/index.ts';
import { makeModel } from '../chat-completions/bodies.ts';
import { buildRouted } from '../support/exchange.ts';
import { readCall } from '../support/families.ts';

function writeText(text: string): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`;
}

const lastChunk = JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const finished = `data: ${lastChunk}\n\ndata: [DONE]\n\n`;
const broken = `data: ${JSON.stringify({ error: { message: 'no more' } })}\n\n`;

const provider: Provider = { name: 'house', endpoints: {}, sign: (request) => request };

const ownCall = {
  protocol: chat,
  call: readCall('chat-completions', {
    model: 'house/model',
    messages: [{ role: 'user', content: 'Hello' }],
    stream: true,
  }),
};

/**
 * Sends the chunks of a chat-completions provider to a client of the plain protocol, or of its own. `left` is
 * set if the provider is not read to its end.
 */
async function crossChunks(
  chunks: readonly string[],
  { tapped = false, verbatim = false } = {},
): Promise<{ pieces: Piece[]; error: unknown; left: boolean; tally: Tally }> {
  const exchange = {
    ...buildRouted({ provider, model: makeModel(), price: freePrice, protocol: chat }, { stream: true }),
    ...(verbatim ? ownCall : {}),
  };
  let left = true;
  const body = async function* (): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield Buffer.from(chunk);
    left = false;
  };
  const pieces: Piece[] = [];
  const tally = new Tally();
  const response = { status: 200, headers: { 'content-type': 'text/event-stream' }, body: body() };
  try {
    for await (const piece of crossReply(
      exchange,
      response,
      { tally, memory: new ReplyMemory(new ReplyBudget({ repliesLimit: 1e9 })) },
      { verbatim, stops: [], expects: undefined, transform: tapped ? (events) => events : undefined },
    ))
      pieces.push(piece);
  } catch (error) {
    return { pieces, error, left, tally };
  }
  return { pieces, error: undefined, left, tally };
}

function joinPieces(pieces: readonly Piece[]): string {
  return pieces.map(pieceText).join('');
}

it('the lane sends a translated stream chunk by chunk, and its last frame separately', async () => {
  const { pieces, error } = await crossChunks([
    writeText('one ') + writeText('two '),
    writeText('three ') + writeText('four') + finished,
  ]);
  expect(error).toBeUndefined();
  expect(pieces.map((piece) => [pieceText(piece).match(/one|two|three|four|done/g), piece.last])).toEqual([
    [['one', 'two'], false],
    [['three', 'four'], false],
    [['done'], true],
  ]);
});

it('the lane sends the same text if a tap transforms the events', async () => {
  const chunks = [writeText('one ') + writeText('two '), writeText('three') + finished];
  expect(joinPieces((await crossChunks(chunks, { tapped: true })).pieces)).toBe(
    joinPieces((await crossChunks(chunks)).pieces),
  );
});

it("the lane reads the provider's stream to its end, so that the connection can be reused", async () => {
  expect(await crossChunks([writeText('one'), finished, ': good night\n\n'])).toMatchObject({
    error: undefined,
    left: false,
  });
});

describe.each([
  ['verbatim', true],
  ['translated', false],
])('the lane of %s streams', (_lane, verbatim) => {
  it('delivers what precedes a break within a chunk', async () => {
    const { pieces, error } = await crossChunks(
      [writeText('one ') + writeText('two') + broken + writeText('three') + finished],
      { verbatim },
    );
    expect(joinPieces(pieces)).toContain('two');
    expect(joinPieces(pieces)).not.toContain('three');
    expect(error).toMatchObject({ code: 'upstream_failed' });
  });

  const garbage = 'data: {"choices":[{]\n\n';

  it('skips an unreadable event and continues with the next', async () => {
    const { pieces, error, tally } = await crossChunks(
      [writeText('one ') + garbage, writeText('two') + garbage + finished],
      { verbatim },
    );
    expect(error).toBeUndefined();
    expect(joinPieces(pieces)).toMatch(/one [^]*two/);
    expect(joinPieces(pieces)).not.toContain('[{]');
    expect(pieces.at(-1)).toMatchObject({ last: true });
    expect([tally.unreadable, tally.losses]).toEqual([
      2,
      [expect.objectContaining({ path: 'reply.event', code: 'reply' })],
    ]);
  });

  it('fails if more than a few events are unreadable', async () => {
    const { pieces, error, tally } = await crossChunks(
      [writeText('one'), garbage.repeat(6), writeText('two') + finished],
      {
        verbatim,
      },
    );
    expect(joinPieces(pieces)).toContain('one');
    expect(joinPieces(pieces)).not.toContain('two');
    expect([tally.complete, error]).toMatchObject([false, { code: 'upstream_failed' }]);
  });

  it('is not complete if its last event is unreadable', async () => {
    const { error } = await crossChunks([writeText('one') + garbage], { verbatim });
    expect(error).toMatchObject({ code: 'upstream_failed' });
  });

  it.each(['data:\n\n', 'data: \n\n', 'event: message\ndata:\n\n'])(
    'does not end at an event without data: %j',
    async (empty) => {
      const { pieces, error, tally } = await crossChunks(
        [empty + writeText('one') + empty, writeText('two') + empty + finished],
        { verbatim },
      );
      expect(error).toBeUndefined();
      expect(joinPieces(pieces)).toMatch(/one[^]*two/);
      expect([tally.unreadable, /^data: ?$/m.test(joinPieces(pieces))]).toEqual([0, false]);
    },
  );

  it.each(['event: error\ndata: upstream timed out\n\n', 'event: error\ndata:\n\n'])(
    'fails at an unreadable error event: %j',
    async (frame) => {
      const { error } = await crossChunks([writeText('one') + frame, writeText('two') + finished], {
        verbatim,
      });
      expect(error).toMatchObject({ code: 'upstream_failed' });
    },
  );
});
