/** What an image call may hold, and the errors for everything else. */
import { describe, expect, it } from 'vitest';
import { pictureTokens } from '../../core/billing/cost-bounds.ts';
import { checkModel, Form, isGatewayError } from '../../core/index.ts';
import { modelOf, protocol, readForm, readJson } from './bodies.ts';
import { jpegBytes, pngBytes } from './gallery.ts';

function refusalOf(run: () => unknown): { code: string; param: string | undefined; message: string } {
  try {
    run();
  } catch (error) {
    if (isGatewayError(error))
      return { code: error.code, param: error.details.param, message: error.message };
    throw error;
  }
  return { code: 'none', param: undefined, message: '' };
}

describe('a generation', () => {
  it.each([
    ['model', { model: '' }, /"": send a model id of the form/],
    ['model', { model: undefined }, /is missing/],
    ['prompt', { prompt: '' }, /1 or more/],
    ['prompt', { prompt: 'x'.repeat(32_001) }, /at most 32000/],
    ['prompt', { prompt: ['A heron'] }, /an array: send a string/],
    ['quality', { quality: undefined }, /is missing: send "auto", "low"/],
    ['quality', { quality: null }, /is missing/],
    ['quality', { quality: 7 }, /a string/],
    ['n', { n: 0 }, /1 to 10/],
    ['n', { n: 11 }, /1 to 10/],
    ['n', { n: 1.5 }, /1 to 10/],
    ['n', { n: '2' }, /1 to 10/],
    ['size', { size: 'huge' }, /"auto", or a width and a height/],
    ['size', { size: '1024×1024' }, /"auto", or a width and a height/],
    ['output_format', { output_format: 7 }, /a string/],
    ['output_compression', { output_compression: 101 }, /0 to 100/],
    ['background', { background: 7 }, /a string/],
    ['moderation', { moderation: 7 }, /a string/],
    ['stream', { stream: 'true' }, /true or false/],
    ['partial_images', { stream: true, partial_images: 4 }, /0 to 3/],
    ['partial_images', { partial_images: 1 }, /only for streams/],
    ['response_format', { response_format: 'url' }, /"b64_json", or leave it out/],
    ['user', { user: 7 }, /a string/],
  ])('is refused by its field %s: %j', (param, body, message) => {
    expect(refusalOf(() => readJson(body))).toEqual({
      code: 'invalid_request',
      param,
      message: expect.stringMatching(message),
    });
  });

  it('may leave everything else out, or set it to null', () => {
    const nothing = {
      n: null,
      size: null,
      output_format: null,
      background: null,
      stream: null,
      partial_images: null,
      response_format: null,
      user: null,
      moderation: null,
    };
    expect(readJson(nothing)).toMatchObject({ stream: false, candidates: 1, statesCount: false });
    expect(readJson({ n: 1 })).toMatchObject({ candidates: 1, statesCount: true });
  });

  it('must be JSON, and an edit a form', () => {
    expect(refusalOf(() => readJson({}, 'edit'))).toMatchObject({
      code: 'unsupported_media_type',
      message: expect.stringMatching(/multipart/),
    });
    const form = readForm({}, [['image', pngBytes()]]);
    expect(form.size).toMatchObject({ images: 1, mediaBytes: 0 });
  });
});

describe('an edit', () => {
  const image = ['image', pngBytes()] as const;

  it.each<[string, Record<string, string>, readonly (readonly [string, Uint8Array])[], RegExp]>([
    ['image', {}, [], /is missing: send a PNG or JPEG file/],
    ['image', {}, [['image', Buffer.from('GIF89a and more')]], /no PNG or JPEG file/],
    ['image', {}, [['image', Buffer.from('RIFF0000WEBPVP8 ')]], /no PNG or JPEG file/],
    ['image', {}, [['image', new Uint8Array(0)]], /an empty file/],
    ['image[1]', {}, [image, ['image[]', Buffer.from('<svg/>')]], /no PNG or JPEG file/],
    [
      'image',
      {},
      Array.from({ length: 17 }, () => ['image[]', pngBytes()] as const),
      /17 files: send 16 at most/,
    ],
    ['image', { image: 'https://example.com/a.png' }, [], /is a text: send a PNG or JPEG file, not a URL/],
    ['mask', {}, [image, ['mask', jpegBytes]], /no PNG file/],
    ['mask', {}, [image, ['mask', pngBytes()], ['mask', pngBytes()]], /2 files: send one/],
    ['picture', {}, [image, ['picture', pngBytes()]], /is a file: send files as/],
    ['n', { n: 'two' }, [image], /1 to 10/],
    ['n', { n: '11' }, [image], /1 to 10/],
    ['stream', { stream: 'yes' }, [image], /true or false/],
    ['quality', { quality: '' }, [image], /is missing: send "low", "medium" or "high"/],
    ...['auto', 'standard', 'hd', 'xhigh', 'max', 'ultra'].map(
      (quality): [string, Record<string, string>, [typeof image], RegExp] => [
        'quality',
        { quality },
        [image],
        /: send one of "low", "medium", "high"\.$/,
      ],
    ),
    ['prompt', { prompt: '' }, [image], /is missing/],
  ])('is refused by its field %s with %j', (param, fields, files, message) => {
    expect(refusalOf(() => readForm(fields, files))).toEqual({
      code: 'invalid_request',
      param,
      message: expect.stringMatching(message),
    });
  });

  it('converts texts of numbers and booleans', () => {
    const call = readForm(
      { n: '2', stream: 'true', partial_images: '1', output_compression: '80', size: 'auto' },
      [
        ['image[]', pngBytes(1)],
        ['image[]', jpegBytes],
        ['mask', pngBytes(2)],
      ],
    );
    expect(call).toMatchObject({ candidates: 2, stream: true, inputImages: 2, size: { images: 3 } });
    expect(call.decode()).toMatchObject({
      candidates: 2,
      image: { partials: 1, compression: 80, size: 'auto', quality: 'low' },
    });
    expect(
      call
        .decode()
        .turns[0]?.blocks.map((block) =>
          block.type === 'media' ? [block.at, block.mediaType, block.mask ?? false] : block.type,
        ),
    ).toEqual([
      ['image[0]', 'image/png', false],
      ['image[1]', 'image/jpeg', false],
      ['mask', 'image/png', true],
      'text',
    ]);
  });

  it.each<[string, [string, string][]]>([
    ['as JSON', [['provider', '{"only":["a","b"],"allow_fallbacks":false,"max_price":{"request":"0.1"}}']]],
    [
      'as the SDKs write it',
      [
        ['provider[only][]', 'a'],
        ['provider[only][]', 'b'],
        ['provider[allow_fallbacks]', 'false'],
        ['provider[max_price][request]', '0.1'],
      ],
    ],
    [
      'with its items numbered',
      [
        ['provider[only][0]', 'a'],
        ['provider[only][1]', 'b'],
        ['provider[allow_fallbacks]', 'false'],
        ['provider[max_price][request]', '0.1'],
      ],
    ],
  ])('is routed by its provider object, %s, which no provider receives', (_, fields) => {
    const call = readForm(fields, [image]);
    expect(call.preferences).toMatchObject({
      only: ['a', 'b'],
      allow_fallbacks: false,
      max_price: { request: '0.1' },
    });
    const { body } = protocol.upstream.encodeRequest(
      call.decode(),
      modelOf('openai/gpt-image-1.5'),
      undefined,
    );
    expect(body instanceof Form && body.fields.map(([name]) => name)).toEqual(['model', 'prompt', 'quality']);
  });

  it.each<[string, [string, string][], RegExp]>([
    ['provider', [['provider', 'openai']], /is "openai": send an object/],
    [
      'provider',
      [
        ['provider', '{}'],
        ['provider[sort]', 'price'],
      ],
      /sent twice/,
    ],
    ['provider.quantizations', [['provider[quantizations][]', 'fp8']], /is not known here/],
    ['provider.__proto__', [['provider[__proto__]', 'x']], /is not known here/],
    ['provider[only][][]', [['provider[only][][]', 'x']], /is not known here/],
    [
      'provider[sort]',
      [
        ['provider[sort]', 'price'],
        ['provider[sort]', 'latency'],
      ],
      /sent twice/,
    ],
    ['provider.allow_fallbacks', [['provider[allow_fallbacks]', 'no']], /true or false/],
    ['provider.only', [['provider[only]', 'a']], /send an array/],
  ])('is refused by its field %s if the form is %j', (param, fields, message) => {
    expect(refusalOf(() => readForm(fields, [image]))).toEqual({
      code: 'invalid_request',
      param,
      message: expect.stringMatching(message),
    });
  });

  it('does not touch the prototype of objects', () => {
    const call = readForm({ ['__proto__']: 'x' }, [image]);
    expect(Object.getPrototypeOf(call.decode())).toBe(Object.prototype);
    expect({}).not.toHaveProperty('x');
  });
});

describe('the values of each model', () => {
  type Outcome = readonly [sent: unknown, ...told: string[]];
  const fields = {
    size: 'size',
    quality: 'quality',
    format: 'output_format',
    background: 'background',
  } as const;

  /** What is sent for a value, and which losses are reported. */
  function outcome(id: string, field: string, value: string): Outcome {
    const request = readJson({ [field]: value }).decode();
    try {
      const { body, losses } = protocol.upstream.encodeRequest(request, modelOf(id), undefined);
      const told = losses
        .filter(({ path }) => fields[path.replace('image.', '') as keyof typeof fields] === field)
        .map(({ reason, code }) => `${code}: ${reason}`);
      return [typeof body === 'object' && body !== null ? Reflect.get(body, field) : undefined, ...told];
    } catch (error) {
      return [isGatewayError(error) ? `${error.status} ${error.message}` : String(error)];
    }
  }

  const passed = (...values: string[]): [string, unknown][] => values.map((value) => [value, [value]]);
  const madeAs = (value: string, sent: string): [string, unknown] => [
    value,
    [sent, `approximated: made as "${sent}"`],
  ];
  const refused = (field: string, value: string, known: string): [string, unknown] => [
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
        ...passed('auto', '1024x1024', '1536x1024', '1024x1536', '1792x1024', '1024x1792'),
        // Each of its rules, and where it ends.
        ...passed('1040x1024', '2048x2048', '3840x2160', '2160x3840', '3072x1024', '1024x640', '2880x2880'),
        ...[
          '256x256',
          '512x512',
          '1025x1024',
          '1024x1032',
          '3856x1600',
          '3088x1024',
          '1024x624',
          '2896x2880',
        ].map((size) => refused('size', size, shapes + anySize)),
      ],
    ],
    [
      'openai/gpt-image-1.5',
      'size',
      [
        ...passed('auto', '1024x1024', '1536x1024', '1024x1536'),
        madeAs('1792x1024', '1536x1024'),
        madeAs('1024x1792', '1024x1536'),
        refused('size', '256x256', shapes),
        refused('size', '512x512', shapes),
      ],
    ],
    [
      'openai/gpt-image-1.5',
      'quality',
      [
        ...passed('auto', 'low', 'medium', 'high'),
        madeAs('standard', 'medium'),
        madeAs('hd', 'high'),
        ...['xhigh', 'max', 'ultra'].map((quality) =>
          refused('quality', quality, '"auto", "low", "medium", "high", "standard", "hd"'),
        ),
      ],
    ],
    [
      'openai/gpt-image-1-mini',
      'output_format',
      [
        ...passed('png', 'jpeg', 'webp'),
        ...['gif', 'svg', 'constructor'].map((format) =>
          refused('output_format', format, '"png", "jpeg", "webp"'),
        ),
      ],
    ],
    ['openai/gpt-image-1', 'background', passed('auto', 'opaque', 'transparent')],
    [
      'openai/gpt-image-2',
      'background',
      [...passed('auto', 'opaque'), refused('background', 'transparent', '"auto", "opaque"')],
    ],
    [
      'google/gemini-2.5-flash-image',
      'size',
      [
        ...passed('auto', '1024x1024'),
        madeAs('1536x1024', '1248x832'),
        madeAs('1024x1536', '832x1248'),
        madeAs('1792x1024', '1344x768'),
        madeAs('1024x1792', '768x1344'),
        refused('size', '512x512', shapes),
      ],
    ],
    [
      'google/gemini-2.5-flash-image',
      'quality',
      [
        ...passed('auto'),
        ...['low', 'medium', 'high', 'standard', 'hd'].map((value) => madeAs(value, 'auto')),
      ],
    ],
    [
      'google/gemini-3-pro-image-preview',
      'output_format',
      [madeAs('png', 'auto'), madeAs('jpeg', 'auto'), refused('output_format', 'webp', '"png", "jpeg"')],
    ],
    [
      'google/gemini-3-pro-image-preview',
      'background',
      [...passed('auto'), madeAs('opaque', 'auto'), refused('background', 'transparent', '"auto", "opaque"')],
    ],
  ])('have an outcome for each value: %s, %s', (id, field, rows) => {
    expect(rows.map(([value]) => [value, outcome(id, field, value)])).toEqual(rows);
  });
});

describe('a model with more than the interface lists', () => {
  const asAsked = (...values: string[]): Record<string, string> =>
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
        sizes: asAsked('auto', '1024x1024', '2048x1024'),
        sizeRules: {
          multiple: 16,
          longestEdge: 8192,
          leastPixels: 65_536,
          mostPixels: 67_108_864,
          mostRatio: 4,
        },
        qualities: asAsked('auto', 'low', 'medium', 'high', 'xhigh', 'max'),
        formats: asAsked('png', 'gif', 'svg'),
        backgrounds: asAsked('auto', 'gradient'),
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
  ])('gets %j unchanged', (fields) => {
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
  ])('reserves the tokens of %s', (_, fields, tokens) => {
    expect(pictureTokens(readJson(fields), studio)).toBe(tokens);
  });
});
