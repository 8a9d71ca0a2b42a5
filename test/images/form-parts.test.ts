/** Forms as clients without a browser's form library write them, part by part. */
import { expect, it } from 'vitest';
import { gallery, makePng, useGallery } from './gallery.ts';

useGallery();

type Part = readonly [head: string, body: string | Uint8Array];

const nameField = (name: string): string => `Content-Disposition: form-data; name="${name}"`;
const model: Part = [nameField('model'), 'openai/gpt-image-1.5'];
const prompt: Part = [nameField('prompt'), 'Nacht – 夜'];
const quality: Part = [nameField('quality'), 'low'];
const image: Part = [`${nameField('image')}; filename="a.png"\r\nContent-Type: image/png`, makePng()];

function post(...parts: readonly Part[]): Promise<Response> {
  const bytes = parts.flatMap(([head, body]) => [
    Buffer.from(`--there\r\n${head}\r\n\r\n`),
    Buffer.from(body),
    Buffer.from('\r\n'),
  ]);
  const headers = {
    authorization: `Bearer ${gallery.key}`,
    'content-type': 'multipart/form-data; boundary=there',
  };
  return fetch(`${gallery.gateway.url}/v1/images/edits`, {
    method: 'POST',
    headers,
    body: Buffer.concat([...bytes, Buffer.from('--there--\r\n')]),
  });
}

/** The parts that reached the provider. */
function getReceived(): string {
  return String(gallery.painter.requests.at(-1)?.body);
}

async function readRefusal(response: Response): Promise<[number, unknown]> {
  return [response.status, await response.json()];
}

it.each([
  [
    'no type, as requests of Python sends it',
    'Content-Disposition: form-data; name="image"; filename="a.png"',
  ],
  ['an empty type', 'Content-Disposition: form-data; name="image"; filename="a.png"\r\nContent-Type: '],
  [
    'its name in the extended form alone',
    'Content-Disposition: form-data; name="image"; filename*=utf-8\'\'n%C3%A4chtlich.png\r\n' +
      'Content-Type: image/png',
  ],
  ['its name before the name of its field', 'content-disposition:form-data;filename="a.png";name="image"'],
  ['an empty name', 'Content-Disposition: form-data; name="image"; filename=""\r\nContent-Type: image/png'],
])('a part is a file if it has a filename: %s', async (_, head) => {
  const response = await post(model, prompt, quality, [head, makePng()]);
  expect([response.status, await response.text()]).toEqual([
    200,
    expect.stringContaining('"num_input_images":1'),
  ]);
});

it.each(['7bit', '8bit', 'binary', 'utf-8', 'base64'])(
  'a part may state the transfer encoding %s',
  async (encoding) => {
    const text = encoding === 'base64' ? Buffer.from('Nacht – 夜').toString('base64') : 'Nacht – 夜';
    expect(
      (
        await post(
          model,
          [`${nameField('prompt')}\r\nContent-Transfer-Encoding: ${encoding}`, text],
          quality,
          image,
        )
      ).status,
    ).toBe(200);
    expect(getReceived()).toContain('name="prompt"\r\n\r\nNacht – 夜\r\n');
  },
);

it.each<[string, string, string, string | null]>([
  ['not UTF-8', nameField('prompt'), '"prompt" is not UTF-8', 'prompt'],
  [
    'not UTF-8, as its type says',
    `${nameField('prompt')}\r\nContent-Type: text/plain; charset=iso-8859-1`,
    '"prompt" is not UTF-8',
    'prompt',
  ],
  ['of no name', 'Content-Disposition: form-data', 'A part of the form has no name.', null],
  ['of no disposition', 'Content-Type: text/plain', 'A part of the form has no name.', null],
])('a part is refused if it is %s', async (_, head, message, param) => {
  const requestCount = gallery.painter.requests.length;
  const response = await post(model, quality, image, [head, Buffer.from('Größe', 'latin1')]);
  expect(await readRefusal(response)).toMatchObject([
    400,
    { error: { message: expect.stringContaining(message), param } },
  ]);
  expect(gallery.painter.requests.length).toBe(requestCount);
});

it('a part is refused if its headers never end', async () => {
  const response = await post(model, prompt, quality, [
    `${nameField('image')}; ${'filename="a"x '.repeat(60_000)}`,
    makePng(),
  ]);
  expect(await readRefusal(response)).toMatchObject([
    400,
    { error: { message: expect.stringContaining('a head of more than 4096 bytes') } },
  ]);
});

it('a part is named in the error even if its name is __proto__', async () => {
  expect(
    await readRefusal(await post(model, prompt, quality, image, [nameField('__proto__'), 'x'])),
  ).toMatchObject([400, { error: { param: '__proto__' } }]);
  expect(
    await readRefusal(
      await post(model, prompt, quality, image, [`${nameField('__proto__')}; filename="a.png"`, makePng()]),
    ),
  ).toMatchObject([400, { error: { param: '__proto__' } }]);
});
