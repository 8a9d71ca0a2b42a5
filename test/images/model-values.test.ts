import { describe, expect, it } from 'vitest';
import { countPictureTokens } from '../../core/billing/cost-bounds.ts';
import { checkModel, isGatewayError } from '../../core/index.ts';
import { readCall } from '../support/families.ts';
import { requireModel, protocol, readJson } from './bodies.ts';

describe('the values of each model', () => {
  type Outcome = readonly [sent: unknown, ...message: string[]];
  const fields = {
    size: 'size',
    quality: 'quality',
    format: 'output_format',
    background: 'background',
  } as const;

  /** What is sent for a value, and which losses are reported. */
  function describeOutcome(id: string, field: string, value: string): Outcome {
    const request = readJson({ [field]: value }).decode();
    try {
      const { body, losses } = protocol.upstream.encodeRequest(request, requireModel(id), undefined);
      const messages = losses
        .filter(({ path }) => fields[path.replace('image.', '') as keyof typeof fields] === field)
        .map(({ reason, code }) => `${code}: ${reason}`);
      return [typeof body === 'object' && body !== null ? Reflect.get(body, field) : undefined, ...messages];
    } catch (error) {
      return [isGatewayError(error) ? `${error.status} ${error.message}` : String(error)];
    }
  }

  const pass = (...values: string[]): [string, unknown][] => values.map((value) => [value, [value]]);
  const approximate = (value: string, sent: string): [string, unknown] => [
    value,
    [sent, `approximated: made as "${sent}"`],
  ];
  const refuse = (field: string, value: string, known: string): [string, unknown] => [
    value,
    [`400 "${field}" is "${value}", which this model does not have: send one of ${known}.`],
  ];
  const anySize =
    ', or a width and a height that are multiples of 16, 3840 at most, ' +
    'with 655360 to 8294400 pixels in all and one at most 3 times the other';
  const shapes = '"auto", "1024x1024", "1536x1024", "1024x1536", "1792x1024", "1024x1792"';

  it.each<[string, string, [string, unknown][]]>([
    [
      'openai/gpt-image-2',
      'size',
      [
        ...pass('auto', '1024x1024', '1536x1024', '1024x1536', '1792x1024', '1024x1792'),
        // Each of its rules, and where it ends.
        ...pass('1040x1024', '2048x2048', '3840x2160', '2160x3840', '3072x1024', '1024x640', '2880x2880'),
        ...[
          '256x256',
          '512x512',
          '1025x1024',
          '1024x1032',
          '3856x1600',
          '3088x1024',
          '1024x624',
          '2896x2880',
        ].map((size) => refuse('size', size, shapes + anySize)),
      ],
    ],
    [
      'openai/gpt-image-1.5',
      'size',
      [
        ...pass('auto', '1024x1024', '1536x1024', '1024x1536'),
        approximate('1792x1024', '1536x1024'),
        approximate('1024x1792', '1024x1536'),
        refuse('size', '256x256', shapes),
        refuse('size', '512x512', shapes),
      ],
    ],
    [
      'openai/gpt-image-1.5',
      'quality',
      [
        ...pass('auto', 'low', 'medium', 'high'),
        approximate('standard', 'medium'),
        approximate('hd', 'high'),
        ...['xhigh', 'max', 'ultra'].map((quality) =>
          refuse('quality', quality, '"auto", "low", "medium", "high", "standard", "hd"'),
        ),
      ],
    ],
    [
      'openai/gpt-image-1-mini',
      'output_format',
      [
        ...pass('png', 'jpeg', 'webp'),
        ...['gif', 'svg', 'constructor'].map((format) =>
          refuse('output_format', format, '"png", "jpeg", "webp"'),
        ),
      ],
    ],
    ['openai/gpt-image-1', 'background', pass('auto', 'opaque', 'transparent')],
    [
      'openai/gpt-image-2',
      'background',
      [...pass('auto', 'opaque'), refuse('background', 'transparent', '"auto", "opaque"')],
    ],
    [
      'google/gemini-2.5-flash-image',
      'size',
      [
        ...pass('auto', '1024x1024'),
        approximate('1536x1024', '1248x832'),
        approximate('1024x1536', '832x1248'),
        approximate('1792x1024', '1344x768'),
        approximate('1024x1792', '768x1344'),
        refuse('size', '512x512', shapes),
      ],
    ],
    [
      'google/gemini-2.5-flash-image',
      'quality',
      [
        ...pass('auto'),
        ...['low', 'medium', 'high', 'standard', 'hd'].map((value) => approximate(value, 'auto')),
      ],
    ],
    [
      'google/gemini-3-pro-image-preview',
      'output_format',
      [
        approximate('png', 'auto'),
        approximate('jpeg', 'auto'),
        refuse('output_format', 'webp', '"png", "jpeg"'),
      ],
    ],
    [
      'google/gemini-3-pro-image-preview',
      'background',
      [
        ...pass('auto'),
        approximate('opaque', 'auto'),
        refuse('background', 'transparent', '"auto", "opaque"'),
      ],
    ],
  ])('have an outcome for each value: %s, %s', (id, field, rows) => {
    expect(rows.map(([value]) => [value, describeOutcome(id, field, value)])).toEqual(rows);
  });
});

const mapToSelf = (...values: string[]): Record<string, string> =>
  Object.fromEntries(values.map((value) => [value, value]));
const studio = checkModel({
  id: 'openai/studio',
  upstream: 'studio',
  name: 'Studio',
  description: 'For tests.',
  created: '2026-11-05',
  contextLength: 150_000,
  outputLimit: 64_000,
  input: ['text', 'image'],
  output: ['image'],
  price: { input: '5', output: '30' },
  capabilities: {
    image: {
      tokens: { low: 1000, medium: 4000, high: 16_000, xhigh: 32_000, max: 64_000 },
      sizes: mapToSelf('auto', '1024x1024', '2048x1024'),
      sizeRules: {
        multiple: 16,
        longestEdge: 8192,
        leastPixels: 65_536,
        mostPixels: 67_108_864,
        mostRatio: 4,
      },
      qualities: mapToSelf('auto', 'low', 'medium', 'high', 'xhigh', 'max'),
      formats: mapToSelf('png', 'gif', 'svg'),
      backgrounds: mapToSelf('auto', 'gradient'),
    },
  },
});

it.each([
  { quality: 'xhigh' },
  { quality: 'max' },
  { output_format: 'gif' },
  { output_format: 'svg' },
  { background: 'gradient' },
  { size: '256x256' },
  { size: '4096x4096' },
  { moderation: 'strict' },
])('a model with more than the interface lists gets %j unchanged', (fields) => {
  const { body, losses } = protocol.upstream.encodeRequest(readJson(fields).decode(), studio, undefined);
  expect(body).toEqual({ model: 'studio', prompt: 'A heron', quality: 'low', ...fields });
  expect(losses).toEqual([]);
});

it.each([
  ['a listed size', { size: '2048x1024', quality: 'low' }, 1000],
  ['a smaller one', { size: '256x256', quality: 'low' }, 1000],
  ['one of eight times the pixels', { size: '4096x4096', quality: 'low' }, 8000],
  ['more than the dearest quality costs', { size: '4096x4096', quality: 'high' }, 64_000],
  ['the best quality there is', { quality: 'max' }, 64_000],
])('a model with more than the interface lists reserves the tokens of %s', (_, fields, tokens) => {
  expect(countPictureTokens(readJson(fields), studio)).toBe(tokens);
});

it('reports what the image tool of responses has beside settings', () => {
  const tool = { type: 'image_generation', size: 'auto', action: 'edit', input_image_mask: { file_id: 'a' } };
  const call = readCall('responses', { model: 'a/b', input: 'A heron', tools: [tool] });
  const { losses } = protocol.upstream.encodeRequest(
    call.decode(),
    requireModel('openai/gpt-image-1.5'),
    undefined,
  );
  expect(losses.map(({ path }) => path)).toEqual(['tools[0].action', 'tools[0].input_image_mask']);
});
