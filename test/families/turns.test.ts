/**
 * Two thousand vectors hold no event loop: texts go to the vendor in parts, no turn parses two long replies,
 * and the client's reply is written in pieces with turns between them. The test counts turns and needs no
 * clock.
 */
import { ServerResponse } from 'node:http';
import { beforeAll, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { tappedVendor } from '../support/tapped-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';

const [inputs, dimensions] = [2048, 1536];
const numbers = Array.from({ length: dimensions }, (_, at) => Math.fround(Math.sin(at + 1) / 7));
const written = {
  float: JSON.stringify(numbers),
  base64: JSON.stringify(Buffer.from(Float32Array.from(numbers).buffer).toString('base64')),
};

/** The vendor's own, which is not watched. */
const { parse } = JSON;

const sentBody = z.object({
  input: z.array(z.string()).max(inputs),
  encoding_format: z.enum(['float', 'base64']).default('float'),
});

/** How many texts each body of the last call had. */
let sent: number[] = [];
let gateway: TestGateway;
beforeAll(async () => {
  const buildVendor = (name: string, flags: object) =>
    tappedVendor(
      name,
      ['embeddings'],
      ({ body }) => {
        const { input, encoding_format: encoding } = sentBody.parse(parse(Buffer.from(body).toString()));
        sent.push(input.length);
        const items = input.map((_, index) => `{"index":${index},"embedding":${written[encoding]}}`);
        return { body: `{"data":[${items.join()}],"usage":{"prompt_tokens":${input.length * 9}}}` };
      },
      {
        id: `house/${name}`,
        output: ['embeddings'],
        capabilities: { wire: { embeddings: { dimensions: [dimensions], ...flags } } },
      },
    );
  gateway = await startGateway({
    plugins: [
      acceptAnyKey(),
      embeddings(),
      buildVendor('both', {}),
      buildVendor('floats', { base64: false }),
    ],
  });
});

interface Work {
  readonly turn: number;
  readonly length: number;
}

/** Notes in which turns of the event loop long texts are parsed and replies are written. */
async function watchTurns<Result>(run: () => Promise<Result>) {
  const [parsed, wrote]: [Work[], Work[]] = [[], []];
  let turn = 0;
  const count = (): void => {
    turn += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const { write } = ServerResponse.prototype;
  vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    if (text.length > 1_000_000) parsed.push({ turn, length: text.length });
    return parse(text, reviver);
  });
  const spy = function spy(this: ServerResponse, ...args: Parameters<typeof write>): boolean {
    wrote.push({ turn, length: Buffer.byteLength(args[0]) });
    return write.apply(this, args);
  };
  vi.spyOn(ServerResponse.prototype, 'write').mockImplementation(spy);
  try {
    return { result: await run(), parsed, wrote };
  } finally {
    vi.restoreAllMocks();
    clearImmediate(next);
  }
}

async function embed(model: string, encoding: keyof typeof written): Promise<number> {
  sent = [];
  const response = await fetch(`${gateway.url}/v1/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      input: Array.from({ length: inputs }, (_, at) => `${at} ${'a'.repeat(500)}`),
      encoding_format: encoding,
      // Another vendor's word: the body is translated.
      input_type: 'document',
    }),
  });
  expect(response.status).toBe(200);
  let length = 0;
  for await (const piece of response.body ?? []) length += piece.byteLength;
  return length;
}

const listTurns = (work: readonly Work[]): number[] => work.map(({ turn }) => turn);

it.each([
  ['both', 'float', [2048]],
  ['both', 'base64', [2048]],
  ['floats', 'float', Array.from({ length: 8 }, () => 256)],
  ['floats', 'base64', Array.from({ length: 8 }, () => 256)],
] as const)('a vendor of %s gives %s vectors in turns', async (vendor, encoding, parts) => {
  const { result: length, parsed, wrote } = await watchTurns(() => embed(`house/${vendor}`, encoding));
  expect(sent).toEqual(parts);
  expect(length).toBeGreaterThan(inputs * written[encoding].length);
  // The request too is a long text.
  expect(parsed.length).toBeGreaterThan(parts.length);
  expect(new Set(listTurns(parsed)).size).toBe(parsed.length);
  expect(new Set(listTurns(wrote)).size).toBe(wrote.length);
  expect(wrote.length).toBeGreaterThanOrEqual(Math.floor(length / 1_048_576));
  for (const piece of wrote) expect(piece.length).toBeLessThan(1_048_576);
});
