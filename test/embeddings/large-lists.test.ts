/** Long lists: no piece of work is long, however many vectors there are, and others get turns in between. */
import { expect, it } from 'vitest';
import { checkModel, type Protocol } from '../../core/index.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { createHost } from '../support/host.ts';
import { buildModelFacts } from '../support/test-provider.ts';
import { toBase64, toVector } from './vectors.ts';

const { protocols } = createHost([embeddings()]);
const client = protocols.get('embeddings');
const [inputs, dimensions] = [2048, 1536];
const vector = toVector('a', dimensions);

function makeModel(wire: string, flags: Record<string, unknown>): ReturnType<typeof checkModel> {
  return checkModel(buildModelFacts({ output: ['embeddings'], capabilities: { wire: { [wire]: flags } } }));
}

function readCall(encoding: string): ReturnType<Protocol['client']['read']> {
  const input = Array.from({ length: inputs }, (_, at) => `${at}`.padEnd(500, 'x'));
  const body = { model: 'house/model', input, encoding_format: encoding };
  const match = client.client.match('POST', '/v1/embeddings') ?? { operation: 'generate' };
  return client.client.read(body, JSON.stringify(body), match, {});
}

it.each([
  ['float', {}, 'translated, in base64', [['base64', 2048]]],
  ['base64', {}, 'as it is', [['base64', 2048]]],
  ['float', { base64: false }, 'translated, in parts', Array.from({ length: 8 }, () => [undefined, 256])],
] as const)('a list that wants %s goes to a vendor with %j %s', (encoding, flags, how, expected) => {
  const call = readCall(encoding);
  const model = makeModel('embeddings', flags);
  expect(call.suits?.(model)).toBe(how === 'as it is');
  const { body, others = [] } = client.upstream.encodeRequest(call.decode(), model, undefined);
  const sent = [body, ...others].map((each) => {
    const { encoding_format: format, input } = JSON.parse(JSON.stringify(each));
    return [format, input.length];
  });
  expect(sent).toEqual(expected);
});

it.each([
  ['float', 'base64'],
  ['base64', 'base64'],
  ['float', 'float'],
  ['base64', 'float'],
] as const)(
  'a list of %s from %s is written in short pieces, with a turn between them',
  async (encoding, from) => {
    const call = readCall(encoding);
    const model = makeModel('embeddings', { base64: from === 'base64' });
    const { others = [] } = client.upstream.encodeRequest(call.decode(), model, undefined);
    const count = others.length + 1;
    const embedding = from === 'base64' ? toBase64(vector) : vector;
    const data = Array.from({ length: inputs / count }, (_, index) => ({ index, embedding }));
    const bytes = Buffer.from(JSON.stringify({ data, usage: { prompt_tokens: 1 } }));
    let turns = 0;
    const countTurn = (): void => {
      turns += 1;
      watching = setImmediate(countTurn);
    };
    let watching = setImmediate(countTurn);
    const lengths: number[] = [];
    const turnsAt: number[] = [];
    const written = client.client.joinReplies?.(
      {
        wire: client,
        model,
        count,
        first: { status: 200, headers: {}, body: new ReadableStream<Uint8Array>() },
        fetch: async () => bytes,
        setType: () => undefined,
        report: () => undefined,
        findCharged: () => undefined,
      },
      { id: 'a', model: model.id, created: 0, call },
    );
    for await (const piece of written ?? []) {
      lengths.push(piece.length);
      turnsAt.push(turns);
    }
    clearImmediate(watching);
    expect(lengths.length).toBeGreaterThan(10);
    // One vector more than fits may be in a piece.
    expect(Math.max(...lengths)).toBeLessThan(600 * 1024);
    for (const [index, at] of turnsAt.slice(1).entries()) expect(at).toBeGreaterThan(turnsAt[index] ?? 0);
  },
);
