import { Decimal } from 'decimal.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { freePrice, getRate, priceSchema } from '../../core/index.ts';
import { readListing, type LeftOut } from '../../plugins/shared/provider/listing.ts';
import { nameRates } from '../support/rates.ts';

const openrouterList = {
  data: [
    {
      id: 'anthropic/claude-sonnet-4.5',
      name: 'Anthropic: Claude Sonnet 4.5',
      created: 1759161676,
      context_length: 1000000,
      architecture: {
        modality: 'text+image+file->text',
        input_modalities: ['text', 'image', 'file'],
        output_modalities: ['text'],
        tokenizer: 'Claude',
        instruct_type: null,
      },
      pricing: {
        prompt: '0.000003',
        completion: '0.000015',
        request: '0',
        image: '0',
        web_search: '0.01',
        internal_reasoning: '0',
        input_cache_read: '0.0000003',
        input_cache_write: '0.00000375',
      },
      top_provider: { context_length: 1000000, max_completion_tokens: 64000, is_moderated: true },
      supported_parameters: [
        'include_reasoning',
        'max_tokens',
        'reasoning',
        'stop',
        'temperature',
        'tool_choice',
        'tools',
      ],
    },
    {
      id: 'openrouter/auto',
      name: 'Auto Router',
      created: 1699401600,
      context_length: 2000000,
      pricing: { prompt: '-1', completion: '-1' },
    },
    {
      id: 'some-lab/tiny:free',
      name: 'Tiny (free)',
      created: 1750000000,
      context_length: 32768,
      pricing: { prompt: '0', completion: '0', request: '0' },
    },
    {
      id: 'seeker/deep',
      name: 'Deep',
      created: 1750000000,
      context_length: 128000,
      pricing: {
        prompt: '0.000002',
        completion: '0.000008',
        internal_reasoning: '0.000003',
        request: '0.005',
        audio: '0.000001',
      },
    },
    {
      id: 'painter/flash-image',
      created: 1750000000,
      context_length: 32768,
      architecture: { input_modalities: ['text', 'image'], output_modalities: ['image', 'text'] },
      pricing: { prompt: '0.0000003', completion: '0.0000025' },
    },
    {
      id: '~anthropic/claude-latest',
      created: 1750000000,
      context_length: 200000,
      pricing: { prompt: '0.000003', completion: '0.000015' },
    },
    { name: 'a row without an id' },
  ],
};

const vllmList = {
  object: 'list',
  data: [
    {
      id: 'Qwen/Qwen3-8B',
      object: 'model',
      created: 1764547200,
      owned_by: 'vllm',
      root: 'Qwen/Qwen3-8B',
      parent: null,
      max_model_len: 40960,
      permission: [],
    },
    {
      id: 'sql-lora',
      object: 'model',
      created: 1764547200,
      owned_by: 'vllm',
      root: '/adapters/sql',
      parent: 'Qwen/Qwen3-8B',
      max_model_len: null,
      permission: [],
    },
    { id: '/models/llama', object: 'model', created: 1764547200, owned_by: 'vllm', max_model_len: 8192 },
  ],
};

const ollamaList = {
  object: 'list',
  data: [{ id: 'llama3.2:latest', object: 'model', created: 1764547200, owned_by: 'library' }],
};

/** What an operator has left to its default. */
const unsaid = { contextLength: 8192 };

describe('a list with prices', () => {
  const models = readListing('openrouter', openrouterList, unsaid);
  const byId = new Map(models.map((model) => [model.id, model]));

  it('keeps the first of two rows with one id, and all other models', () => {
    const rows = [{ id: 'a', max_model_len: 1000 }, { id: 'a', max_model_len: 2000 }, { id: 'b' }];
    const models = readListing('local', { data: rows }, { ...unsaid, free: true });
    expect(models.map(({ id, contextLength }) => [id, contextLength])).toEqual([
      ['local/a', 1000],
      ['local/b', 8192],
    ]);
  });

  it('gives the models that have a fixed price and make text alone', () => {
    expect([...byId.keys()]).toEqual(['anthropic/claude-sonnet-4.5', 'some-lab/tiny:free', 'seeker/deep']);
  });

  it('gives prices a million tokens, cache reads and writes among them', () => {
    expect(nameRates(byId.get('anthropic/claude-sonnet-4.5')?.price ?? freePrice)).toEqual({
      input: 3_000_000_000n,
      output: 15_000_000_000n,
      cacheRead: 300_000_000n,
      cacheWrite5m: 3_750_000_000n,
      webSearch: 10_000_000n,
      tiers: [],
    });
  });

  it('returns the price of a call and of reasoning if they have their own', () => {
    expect(nameRates(byId.get('seeker/deep')?.price ?? freePrice)).toEqual({
      input: 2_000_000_000n,
      output: 8_000_000_000n,
      reasoning: 3_000_000_000n,
      inputAudio: 1_000_000_000n,
      request: 5_000_000n,
      tiers: [],
    });
  });

  it('gives limits, modalities and what can be asked for', () => {
    expect(byId.get('anthropic/claude-sonnet-4.5')).toMatchObject({
      upstream: 'anthropic/claude-sonnet-4.5',
      name: 'Anthropic: Claude Sonnet 4.5',
      created: '2025-09-29',
      contextLength: 1_000_000,
      outputLimit: 64_000,
      input: ['text', 'image', 'file'],
      output: ['text'],
      capabilities: { tools: true, structuredOutput: false, sampling: true, reasoning: { style: 'effort' } },
    });
  });

  it('yields to the price of the options, also for parts without a price of their own', () => {
    const price = priceSchema.parse([
      { unit: 'input', rate: '1' },
      { unit: 'output', rate: '2' },
    ]);
    const priced = readListing('openrouter', openrouterList, { ...unsaid, price });
    expect(priced.find(({ id }) => id === 'openrouter/auto')).toMatchObject({ price, free: undefined });
    expect(priced.every((model) => model.price === price)).toBe(true);
  });
});

describe('a list without prices', () => {
  it('gives nothing until the options say what its models cost', () => {
    expect(readListing('vllm', vllmList, unsaid)).toEqual([]);
    expect(readListing('ollama', ollamaList, unsaid)).toEqual([]);
  });

  it('gives the models of vLLM with the context they are served with', () => {
    expect(
      readListing('vllm', vllmList, { ...unsaid, free: true }).map(({ id, upstream, contextLength }) => [
        id,
        upstream,
        contextLength,
      ]),
    ).toEqual([
      ['Qwen/Qwen3-8B', 'Qwen/Qwen3-8B', 40960],
      ['vllm/sql-lora', 'sql-lora', 8192],
      ['vllm/models/llama', '/models/llama', 8192],
    ]);
  });

  it('gives the models of Ollama under its own name, free or at a price', () => {
    expect(readListing('ollama', ollamaList, { ...unsaid, free: true })).toMatchObject([
      { id: 'ollama/llama3.2:latest', upstream: 'llama3.2:latest', free: true, created: '2025-12-01' },
    ]);
    const price = { ...freePrice };
    expect(readListing('ollama', ollamaList, { ...unsaid, price })).toMatchObject([
      { id: 'ollama/llama3.2:latest', price, free: undefined },
    ]);
  });

  it('takes the context length that the operator states', () => {
    expect(readListing('ollama', ollamaList, { contextLength: 131_072, free: true })).toMatchObject([
      { contextLength: 131_072, outputLimit: 131_072 },
    ]);
  });

  it('is empty if Ollama has no models yet and answers null', () => {
    expect(readListing('ollama', { object: 'list', data: null }, { ...unsaid, free: true })).toEqual([]);
  });
});

it('a body that is no list throws', () => {
  expect(() => readListing('vllm', { error: 'not found' }, { ...unsaid, free: true })).toThrow(/data/);
});

const Exact = Decimal.clone({ precision: 60 });

it('a listed price is exact, however many decimals it has', () => {
  const perToken = fc.tuple(fc.bigInt({ min: 1n, max: 10n ** 24n }), fc.integer({ min: 0, max: 24 }));
  fc.assert(
    fc.property(perToken, ([digits, places]) => {
      const padded = digits.toString().padStart(places + 1, '0');
      const text = places === 0 ? padded : `${padded.slice(0, -places)}.${padded.slice(-places)}`;
      const [model] = readListing(
        'x',
        { data: [{ id: 'a/b', pricing: { prompt: text, completion: text } }] },
        unsaid,
      );
      const exact = new Exact(digits.toString()).times(`1e${6 - places}`);
      expect(getRate(model?.price, 'input')).toBe(exact.toFixed());
    }),
    { numRuns: 200, seed: 42 },
  );
});

describe('a list of a local server', () => {
  const free = { ...unsaid, free: true } as const;
  const read = (row: object): object => {
    const [model] = readListing('local', { data: [row] }, free);
    const { id, upstream, contextLength, created, expires } = model ?? {};
    return { id, upstream, contextLength, created, expires };
  };
  const plain = { contextLength: 8192, created: '1970-01-01', expires: null };

  it.each([
    ['Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf', 'local/Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf'],
    ['Mistral Small 3.2 (24B) [Q5]', 'local/Mistral-Small-3.2-24B-Q5-'],
    ['C:\\models\\phi-4.gguf', 'local/C:-models-phi-4.gguf'],
    ['/srv/models/Llama 3.gguf', 'local/srv/models/Llama-3.gguf'],
    ['LGAI-EXAONE/EXAONE 4.0', 'LGAI-EXAONE/EXAONE-4.0'],
    ['modèle', 'local/mod-le'],
  ])('offers the model %s as %s, and asks the server for it by its own name', (upstream, id) => {
    expect(read({ id: upstream })).toEqual({ ...plain, id, upstream });
  });

  it.each([
    [{ meta: { n_ctx: 32_768, n_ctx_train: 262_144 } }, { contextLength: 32_768 }],
    [{ meta: { n_ctx_train: 262_144 } }, {}],
    [{ meta: null }, {}],
    [{ max_model_len: 4096, meta: { n_ctx: 32_768 } }, { contextLength: 4096 }],
    [{ max_model_len: '16384' }, { contextLength: 16_384 }],
    [{ context_length: '131072.0' }, { contextLength: 131_072 }],
    [{ context_length: 'unknown' }, {}],
    [{ created: '1764547200' }, { created: '2025-12-01' }],
    [{ created: 1_764_547_200_000 }, { created: '2025-12-01' }],
    [{ created: '2025-12-01T00:00:00Z' }, {}],
    [{ created: -1 }, {}],
    [{ created: 1e300 }, {}],
    [{ name: 7 }, {}],
  ])('reads of %j what it can, and offers the model: %j', (facts, expected) => {
    expect(read({ id: 'a', ...facts })).toEqual({ ...plain, id: 'local/a', upstream: 'a', ...expected });
  });

  it.each([
    [{ shutdown_date: '2026-12-11' }, '2026-12-10'],
    [{ shutdown_date: '2027-01-01T00:00:00Z' }, '2026-12-31'],
    [{ shutdown_date: null }, null],
    [{ shutdown_date: 'soon' }, null],
    [{ expiration_date: '2027-01-13' }, '2027-01-13'],
  ])('takes the end that the list states: %j, as the last day of service: %s', (facts, expires) => {
    expect(read({ id: 'a', ...facts })).toMatchObject({ expires });
  });

  it('says of each row that is not offered why', () => {
    const leftOut: LeftOut[] = [];
    const rows = [
      { id: 'b c' },
      { id: 'b(c' },
      { id: 'b c' },
      { id: '模型' },
      { id: 'painter', architecture: { output_modalities: ['image'] } },
      { name: 'no id' },
      7,
    ];
    expect(readListing('local', { data: rows }, free, leftOut).map(({ id }) => id)).toEqual(['local/b-c']);
    expect(leftOut).toEqual([
      { id: 'b(c', reason: 'the model "b c" has the same id here, local/b-c' },
      { id: '模型', reason: 'its id does not begin with a letter or a digit of ASCII' },
      { id: 'painter', reason: 'it makes more than text' },
      { id: 'row 6', reason: expect.stringContaining('id: ') },
      { id: 'row 7', reason: expect.any(String) },
    ]);
    const unpriced: LeftOut[] = [];
    readListing('local', { data: [{ id: 'a' }] }, unsaid, unpriced);
    expect(unpriced).toMatchObject([{ id: 'a', reason: expect.stringMatching(/no price/) }]);
  });
});
