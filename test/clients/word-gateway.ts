/**
 * A gateway to fake vendors that make vectors of the words of texts, so that the right text is found: one of
 * OpenAI's wire, one of it that takes the numbers of tokens alone, and one of Cohere's.
 */
import { z } from 'zod';
import type { ConfigInput } from '../../core/config.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { completions } from '../../plugins/protocols/completions/index.ts';
import { embeddings } from '../../plugins/protocols/embeddings/index.ts';
import { moderations } from '../../plugins/protocols/moderations/index.ts';
import { rerank } from '../../plugins/protocols/rerank/index.ts';
import { demo } from '../../plugins/providers/demo.ts';
import { keyHeaders, textProtocols } from '../support/front.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, startScriptedVendor } from '../support/scripted-vendor.ts';
import { testProvider } from '../support/test-provider.ts';

const dimensions = 64;
const text = z.string().min(1);
const texts = z.union([text.transform((one) => [one]), z.array(text).max(2048)]);
const tokens = z.array(z.array(z.int()).min(1)).max(2048);
const common = {
  model: z.literal('words'),
  encoding_format: z.enum(['float', 'base64']).optional(),
};
const cohere = z
  .strictObject({
    model: z.literal('words'),
    texts: z.array(text).max(96),
    input_type: z.enum(['search_document', 'search_query']),
    embedding_types: z.array(z.enum(['float', 'base64'])).length(1),
    truncate: z.enum(['NONE', 'END']),
  })
  .transform(({ texts: input, embedding_types: [type] }) => ({ input, encoding_format: type }));

/** What each vendor takes, by the path of its wire. */
const bodies = {
  '/openai': z.strictObject({ ...common, input: texts }),
  '/tokens': z.strictObject({ ...common, input: tokens }),
  '/cohere': cohere,
} as const;
const paths = z.enum(['/openai', '/tokens', '/cohere']);

/** The words of a text, or the numbers of its tokens, each counted at a place of its own. */
function makeVector(input: string | readonly number[]): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  const words = typeof input === 'string' ? (input.toLowerCase().match(/\w+/g) ?? []) : input.map(String);
  for (const word of words) {
    const place = [...word].reduce((sum, letter) => sum * 31 + (letter.codePointAt(0) ?? 0), 7) % dimensions;
    vector[place] = (vector[place] ?? 0) + 1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((count) => Math.fround(count / length));
}

const startWordVendor = (): ReturnType<typeof startScriptedVendor> =>
  startScriptedVendor((response, { url }, sent) => {
    const path = paths.parse(url);
    const read = bodies[path].safeParse(JSON.parse(sent));
    if (!read.success) return sendJson(response, { message: read.error.message }, 400);
    const { input, encoding_format: type = 'float' } = read.data;
    const vectors = input
      .map(makeVector)
      .map((each) =>
        type === 'base64' ? Buffer.from(Float32Array.from(each).buffer).toString('base64') : each,
      );
    if (path === '/cohere')
      return sendJson(response, {
        embeddings: { [type]: vectors },
        meta: { billed_units: { input_tokens: 9 } },
      });
    const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }));
    return sendJson(response, { object: 'list', data, usage: { prompt_tokens: 9, total_tokens: 9 } });
  });

export interface WordGateway {
  readonly gateway: TestGateway;
  readonly key: string;
  close(): Promise<void>;
}

const audited = z.looseObject({ ok: z.literal(true) });

/** `plugins` are beside the usual ones. Closing throws if the ledger does not add up. */
export async function openWordGateway(plugins: ConfigInput['plugins'] = []): Promise<WordGateway> {
  const vendor = await startWordVendor();
  const facts = { upstream: 'words', output: ['embeddings'] };
  const gateway = await startGateway({
    plugins: [
      ...keyHeaders(),
      ...textProtocols(),
      embeddings(),
      rerank(),
      moderations(),
      completions(),
      testProvider({
        name: 'same',
        endpoints: { embeddings: `${vendor.origin}/openai` },
        models: [{ id: 'house/same', ...facts }],
      }),
      testProvider({
        name: 'tokens',
        endpoints: { embeddings: `${vendor.origin}/tokens` },
        models: [{ id: 'house/tokens', ...facts, capabilities: { wire: { embeddings: { tokens: true } } } }],
      }),
      testProvider({
        name: 'other',
        endpoints: { 'cohere-embed': `${vendor.origin}/cohere` },
        models: [{ id: 'house/other', ...facts }],
      }),
      demo({ pace: 0 }),
      balance(),
      ...plugins,
    ],
  });
  return {
    gateway,
    key: await gateway.newKey({ account: 'tester', credit: '5' }),
    async close() {
      const audit = await gateway.verb('audit');
      await gateway.close();
      await vendor.close();
      audited.parse(audit);
    },
  };
}
