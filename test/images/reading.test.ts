/** What an image call may hold, and the errors for everything else. */
import { describe, expect, it } from 'vitest';
import { readForm as parseForm } from '../../plugins/shared/forms.ts';
import { expectRefusal } from '../support/refusals.ts';
import { requireModel, protocol, readForm, readJson } from './bodies.ts';
import { jpegBytes, makePng } from './gallery.ts';

function describeRefusal(run: () => unknown): { code: string; param: string | undefined; message: string } {
  const { code, message, details } = expectRefusal(run);
  return { code, param: details.param, message };
}

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
])('a generation is refused by its field %s: %j', (param, body, message) => {
  expect(describeRefusal(() => readJson(body))).toEqual({
    code: 'invalid_request',
    param,
    message: expect.stringMatching(message),
  });
});

it('a generation may leave everything else out, or set it to null', () => {
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

it('a generation counts the picture of a form as a picture', () => {
  const form = readForm({}, [['image', makePng()]]);
  expect(form.size).toMatchObject({ images: 1, mediaBytes: 0 });
});

describe('an edit', () => {
  const image = ['image', makePng()] as const;

  it.each<[string, Record<string, string>, readonly (readonly [string, Uint8Array])[], RegExp]>([
    ['image', {}, [], /is missing: send a PNG or JPEG file/],
    ['image', {}, [['image', Buffer.from('GIF89a and more')]], /not a PNG or JPEG file/],
    ['image', {}, [['image', Buffer.from('RIFF0000WEBPVP8 ')]], /not a PNG or JPEG file/],
    ['image', {}, [['image', new Uint8Array(0)]], /an empty file/],
    ['image[1]', {}, [image, ['image[]', Buffer.from('<svg/>')]], /not a PNG or JPEG file/],
    [
      'image',
      {},
      Array.from({ length: 17 }, () => ['image[]', makePng()] as const),
      /17 files: send 16 at most/,
    ],
    ['image', { image: 'https://example.com/a.png' }, [], /is a text: send a PNG or JPEG file, not a URL/],
    ['mask', {}, [image, ['mask', jpegBytes]], /not a PNG file/],
    ['mask', {}, [image, ['mask', makePng()], ['mask', makePng()]], /2 files: send one/],
    ['picture', {}, [image, ['picture', makePng()]], /is a file: send files as/],
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
    expect(describeRefusal(() => readForm(fields, files))).toEqual({
      code: 'invalid_request',
      param,
      message: expect.stringMatching(message),
    });
  });

  it('converts texts of numbers and booleans', () => {
    const call = readForm(
      { n: '2', stream: 'true', partial_images: '1', output_compression: '80', size: 'auto' },
      [
        ['image[]', makePng(1)],
        ['image[]', jpegBytes],
        ['mask', makePng(2)],
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
  ])('is routed by its provider object, %s, which no provider receives', async (_, fields) => {
    const call = readForm(fields, [image]);
    expect(call.preferences).toMatchObject({
      only: ['a', 'b'],
      allow_fallbacks: false,
      max_price: { request: '0.1' },
    });
    const { body, contentType } = protocol.upstream.encodeRequest(
      call.decode(),
      requireModel('openai/gpt-image-1.5'),
      undefined,
    );
    const bytes = body instanceof Buffer ? body : Buffer.of();
    const sent = await parseForm(bytes, contentType ?? '');
    expect(sent.fields.map(([name]) => name)).toEqual(['model', 'prompt', 'quality']);
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
    ['provider.quantization', [['provider[quantization][]', 'fp8']], /is not known here/],
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
    expect(describeRefusal(() => readForm(fields, [image]))).toEqual({
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

const png = `data:image/png;base64,${Buffer.from('89504e470d0a1a0a', 'hex').toString('base64')}`;
const readEdit = (fields: Record<string, unknown>): ReturnType<typeof readJson> => readJson(fields, 'edit');

it.each<[string, Record<string, unknown>, RegExp]>([
  ['images', {}, /is missing/],
  ['images', { images: [] }, /is an empty array/],
  ['images', { images: Array.from({ length: 17 }, () => ({ image_url: png })) }, /at most 16/],
  ['images[0].detail', { images: [{ image_url: png, detail: 'low' }] }, /not known here/],
  ['images[0].image_url', { images: [{}] }, /is missing: send a picture as a data URL/],
  ['images[0].image_url', { images: [{ image_url: 'a.png' }] }, /is not a data URL in base64/],
  ['images[0].image_url', { images: [{ image_url: 'data:image/gif;base64,R0lGODlh' }] }, /not a PNG or JPEG/],
  ['images[0].file_id', { images: [{ file_id: 'file-1' }] }, /names a file that a vendor stores/],
  ['mask.file_id', { images: [{ image_url: png }], mask: { file_id: 'file-1' } }, /that a vendor stores/],
  ['image', { images: [{ image_url: png }], image: png }, /is for forms only/],
  ['quality', { images: [{ image_url: png }], quality: 'hd' }, /"low"/],
])('an edit in JSON is refused by its field %s: %j', (param, fields, message) => {
  const error = expectRefusal(() => readEdit(fields));
  expect(error.details.param).toBe(param);
  expect(error.message).toMatch(message);
});

it('an edit in JSON counts its pictures as pictures, not as text', () => {
  const image_url = `${png}${'A'.repeat(100_000)}`;
  const { size } = readEdit({ images: [{ image_url }, { image_url }] });
  expect([size.images, size.textBytes < 200]).toEqual([2, true]);
});

it('an edit in JSON has a picture by its address refused by its field, if nothing fetches it', () => {
  const call = readEdit({ images: [{ image_url: 'https://images.example/a.png' }] });
  const model = requireModel('openai/gpt-image-1.5');
  const error = expectRefusal(() => protocol.upstream.encodeRequest(call.decode(), model, undefined));
  expect([error.details.param, error.message]).toEqual([
    'images[0].image_url',
    expect.stringMatching(/send a data URL/),
  ]);
});
