/** What a call for a picture may say, and what it is told where it says something else. */
import { describe, expect, it } from 'vitest';
import { Form, isGatewayError } from '../../core/index.ts';
import { modelOf, protocol, readForm, readJson } from './bodies.ts';
import { jpegBytes, pngBytes } from './gallery.ts';

function refusalOf(run: () => unknown): { code: string; param: string | undefined; message: string } {
  try {
    run();
  } catch (error) {
    if (isGatewayError(error)) return { code: error.code, param: error.details.param, message: error.message };
    throw error;
  }
  return { code: 'none', param: undefined, message: '' };
}

describe('a generation', () => {
  it.each([
    ['model', { model: 'gpt-image-1.5' }, /"gpt-image-1.5": send a model id of the form/],
    ['model', { model: undefined }, /is missing/],
    ['prompt', { prompt: '' }, /1 or more/],
    ['prompt', { prompt: 'x'.repeat(32_001) }, /at most 32000/],
    ['prompt', { prompt: ['A heron'] }, /an array: send a string/],
    ['quality', { quality: undefined }, /is missing: send "auto", "low"/],
    ['quality', { quality: null }, /is missing/],
    ['quality', { quality: 'ultra' }, /one of "auto", "low", "medium", "high", "standard", "hd"/],
    ['n', { n: 0 }, /1 to 10/],
    ['n', { n: 11 }, /1 to 10/],
    ['n', { n: 1.5 }, /1 to 10/],
    ['n', { n: '2' }, /1 to 10/],
    ['size', { size: 'huge' }, /"auto", or a width and a height/],
    ['size', { size: '1024×1024' }, /"auto", or a width and a height/],
    ['output_format', { output_format: 'gif' }, /"png", "jpeg", "webp"/],
    ['output_compression', { output_compression: 101 }, /0 to 100/],
    ['background', { background: 'green' }, /"transparent", "opaque", "auto"/],
    ['moderation', { moderation: 'none' }, /"low", "auto"/],
    ['stream', { stream: 'true' }, /true or false/],
    ['partial_images', { stream: true, partial_images: 4 }, /0 to 3/],
    ['partial_images', { partial_images: 1 }, /only for streams/],
    ['response_format', { response_format: 'url' }, /"b64_json", or leave it out/],
    ['user', { user: 7 }, /a string/],
  ])('is told of %s in %j', (param, body, message) => {
    expect(refusalOf(() => readJson(body))).toEqual({ code: 'invalid_request', param, message: expect.stringMatching(message) });
  });

  it('may leave everything else out, or say it is null', () => {
    const nothing = { n: null, size: null, output_format: null, background: null, stream: null, partial_images: null, response_format: null, user: null, moderation: null };
    expect(readJson(nothing)).toMatchObject({ stream: false, candidates: 1, statesCount: false });
    expect(readJson({ n: 1 })).toMatchObject({ candidates: 1, statesCount: true });
  });

  it('comes as JSON, and an edit as a form', () => {
    expect(refusalOf(() => readJson({}, 'edit'))).toMatchObject({ code: 'unsupported_media_type', message: expect.stringMatching(/multipart/) });
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
    ['image', {}, Array.from({ length: 17 }, () => ['image[]', pngBytes()] as const), /17 files: send 16 at most/],
    ['image', { image: 'https://example.com/a.png' }, [], /is a text: send a PNG or JPEG file, not an address/],
    ['mask', {}, [image, ['mask', jpegBytes]], /no PNG file/],
    ['mask', {}, [image, ['mask', pngBytes()], ['mask', pngBytes()]], /2 files: send one/],
    ['picture', {}, [image, ['picture', pngBytes()]], /is a file: send files as/],
    ['n', { n: 'two' }, [image], /1 to 10/],
    ['n', { n: '11' }, [image], /1 to 10/],
    ['stream', { stream: 'yes' }, [image], /true or false/],
    ['quality', { quality: '' }, [image], /is missing/],
    ['input_fidelity', { input_fidelity: 'most' }, [image], /"high", "low"/],
    ['prompt', { prompt: '' }, [image], /is missing/],
  ])('is told of %s in %j', (param, fields, files, message) => {
    expect(refusalOf(() => readForm(fields, files))).toEqual({ code: 'invalid_request', param, message: expect.stringMatching(message) });
  });

  it('takes its texts for the numbers and switches they are', () => {
    const call = readForm({ n: '2', stream: 'true', partial_images: '1', output_compression: '80', size: 'auto' }, [['image[]', pngBytes(1)], ['image[]', jpegBytes], ['mask', pngBytes(2)]]);
    expect(call).toMatchObject({ candidates: 2, stream: true, inputImages: 2, size: { images: 3 } });
    expect(call.decode()).toMatchObject({ candidates: 2, image: { partials: 1, compression: 80, size: 'auto', quality: 'low' } });
    expect(call.decode().turns[0]?.blocks.map((block) => (block.type === 'media' ? [block.at, block.mediaType, block.mask ?? false] : block.type))).toEqual([
      ['image[0]', 'image/png', false], ['image[1]', 'image/jpeg', false], ['mask', 'image/png', true], 'text',
    ]);
  });

  it.each<[string, [string, string][]]>([
    ['as JSON', [['provider', '{"only":["a","b"],"allow_fallbacks":false,"max_price":{"request":"0.1"}}']]],
    ['as the SDKs write it', [['provider[only][]', 'a'], ['provider[only][]', 'b'], ['provider[allow_fallbacks]', 'false'], ['provider[max_price][request]', '0.1']]],
    ['with its items numbered', [['provider[only][0]', 'a'], ['provider[only][1]', 'b'], ['provider[allow_fallbacks]', 'false'], ['provider[max_price][request]', '0.1']]],
  ])('is routed as its provider object says, %s, which no vendor is sent', (_, fields) => {
    const call = readForm(fields, [image]);
    expect(call.preferences).toMatchObject({ only: ['a', 'b'], allow_fallbacks: false, max_price: { request: '0.1' } });
    const { body } = protocol.upstream.encodeRequest(call.decode(), modelOf('openai/gpt-image-1.5'), undefined);
    expect(body instanceof Form && body.fields.map(([name]) => name)).toEqual(['model', 'prompt', 'quality']);
  });

  it.each<[string, [string, string][], RegExp]>([
    ['provider', [['provider', 'openai']], /is "openai": send an object/],
    ['provider', [['provider', '{}'], ['provider[sort]', 'price']], /said twice/],
    ['provider.quantizations', [['provider[quantizations][]', 'fp8']], /is not known here/],
    ['provider.__proto__', [['provider[__proto__]', 'x']], /is not known here/],
    ['provider[only][][]', [['provider[only][][]', 'x']], /is not known here/],
    ['provider[sort]', [['provider[sort]', 'price'], ['provider[sort]', 'latency']], /said twice/],
    ['provider.allow_fallbacks', [['provider[allow_fallbacks]', 'no']], /true or false/],
    ['provider.only', [['provider[only]', 'a']], /send an array/],
  ])('is told of %s in %j', (param, fields, message) => {
    expect(refusalOf(() => readForm(fields, [image]))).toEqual({ code: 'invalid_request', param, message: expect.stringMatching(message) });
  });

  it('takes no name for the prototype of things', () => {
    const call = readForm({ ['__proto__']: 'x' }, [image]);
    expect(Object.getPrototypeOf(call.decode())).toBe(Object.prototype);
    expect({}).not.toHaveProperty('x');
  });
});

describe('the values of each model', () => {
  type Outcome = readonly [sent: unknown, ...told: string[]];
  const fields = { size: 'size', quality: 'quality', format: 'output_format', background: 'background' } as const;

  /** What becomes of a value on the images wire: what is sent, and what is told. */
  function outcome(id: string, field: string, value: string): Outcome {
    const request = readJson({ [field]: value }).decode();
    try {
      const { body, losses } = protocol.upstream.encodeRequest(request, modelOf(id), undefined);
      const told = losses.filter(({ path }) => fields[path.replace('image.', '') as keyof typeof fields] === field).map(({ reason, code }) => `${code}: ${reason}`);
      return [typeof body === 'object' && body !== null ? Reflect.get(body, field) : undefined, ...told];
    } catch (error) {
      return [isGatewayError(error) ? `${error.status} ${error.message}` : String(error)];
    }
  }

  const passed = (...values: string[]): [string, unknown][] => values.map((value) => [value, [value]]);
  const madeAs = (value: string, sent: string): [string, unknown] => [value, [sent, `approximated: made as "${sent}"`]];
  const refused = (field: string, value: string, known: string): [string, unknown] => [value, [`400 "${field}" is "${value}", which this model does not have: send one of ${known}.`]];
  const shapes = '"auto", "1024x1024", "1536x1024", "1024x1536", "1792x1024", "1024x1792"';

  it.each<[string, string, [string, unknown][]]>([
    ['openai/gpt-image-2', 'size', [...passed('auto', '1024x1024', '1536x1024', '1024x1536', '1792x1024', '1024x1792'), refused('size', '256x256', shapes), refused('size', '512x512', shapes)]],
    ['openai/gpt-image-1.5', 'size', [...passed('auto', '1024x1024', '1536x1024', '1024x1536'), madeAs('1792x1024', '1536x1024'), madeAs('1024x1792', '1024x1536'), refused('size', '256x256', shapes), refused('size', '512x512', shapes)]],
    ['openai/gpt-image-1.5', 'quality', [...passed('auto', 'low', 'medium', 'high'), madeAs('standard', 'medium'), madeAs('hd', 'high')]],
    ['openai/gpt-image-1-mini', 'output_format', passed('png', 'jpeg', 'webp')],
    ['openai/gpt-image-1', 'background', passed('auto', 'opaque', 'transparent')],
    ['openai/gpt-image-2', 'background', [...passed('auto', 'opaque'), refused('background', 'transparent', '"auto", "opaque"')]],
    ['google/gemini-2.5-flash-image', 'size', [...passed('auto', '1024x1024'), madeAs('1536x1024', '1248x832'), madeAs('1024x1536', '832x1248'), madeAs('1792x1024', '1344x768'), madeAs('1024x1792', '768x1344'), refused('size', '512x512', shapes)]],
    ['google/gemini-2.5-flash-image', 'quality', [...passed('auto'), ...['low', 'medium', 'high', 'standard', 'hd'].map((value) => madeAs(value, 'auto'))]],
    ['google/gemini-3-pro-image-preview', 'output_format', [madeAs('png', 'auto'), madeAs('jpeg', 'auto'), refused('output_format', 'webp', '"png", "jpeg"')]],
    ['google/gemini-3-pro-image-preview', 'background', [...passed('auto'), madeAs('opaque', 'auto'), refused('background', 'transparent', '"auto", "opaque"')]],
  ])('%s has a row for each %s', (id, field, rows) => {
    expect(rows.map(([value]) => [value, outcome(id, field, value)])).toEqual(rows);
  });
});
