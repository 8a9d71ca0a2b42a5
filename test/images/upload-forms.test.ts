import { beforeAll, expect, it } from 'vitest';
import { buildEditForm, jpegBytes, makePng, openGallery, type Gallery } from './gallery.ts';

const edits = '/v1/images/edits';

let gallery: Gallery;
beforeAll(async () => void (gallery = await openGallery({ settings: { server: { bodyLimit: 1_000_000 } } })));

const form = { 'content-type': 'multipart/form-data; boundary=there' };

/** Sends a form that a test writes byte by byte. */
function send(
  body: NonNullable<RequestInit['body']>,
  headers: Record<string, string> = form,
): Promise<Response> {
  return fetch(gallery.gateway.url + edits, {
    method: 'POST',
    headers: { authorization: `Bearer ${gallery.key}`, ...headers },
    body,
    duplex: 'half',
  });
}

it('a form gets the type of a picture from its bytes, whatever its name is', async () => {
  const response = await gallery.post(
    edits,
    buildEditForm({}, [['image', jpegBytes, '../../etc/passwd"\r\n.png']]),
  );
  expect(response.status).toBe(200);
  expect(String(gallery.painter.requests.at(-1)?.body)).toMatch(
    /name="image"; filename="image-1.jpg"\r\ncontent-type: image\/jpeg/,
  );
});

it('a form may state a type for its texts', async () => {
  const text = (name: string, value: string): string =>
    `--there\r\nContent-Disposition: form-data; name="${name}"\r\n` +
    `Content-Type: text/plain; charset=utf-8\r\n\r\n${value}\r\n`;
  const head =
    '--there\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n' +
    'Content-Type: image/png\r\n\r\n';
  const body = Buffer.concat([
    Buffer.from(
      text('model', 'openai/gpt-image-1.5') + text('prompt', 'Nacht – 夜') + text('quality', 'low') + head,
    ),
    makePng(),
    Buffer.from('\r\n--there--\r\n'),
  ]);
  const response = await send(body);
  expect(response.status).toBe(200);
  expect(String(gallery.painter.requests.at(-1)?.body)).toContain('Nacht – 夜');
});

it.each(['application/octet-stream', 'image/png'])(
  'a form may leave out the name of a file of type %s, as OpenAI for Java does for a stream',
  async (type) => {
    const part = (name: string, headers = ''): string =>
      `--there\r\nContent-Disposition: form-data; name="${name}"\r\n${headers}\r\n`;
    const texts = { model: 'openai/gpt-image-1.5', prompt: 'At night', quality: 'low' };
    const body = Buffer.concat([
      Buffer.from(
        Object.entries(texts).reduce((form, [name, value]) => `${form}${part(name)}${value}\r\n`, ''),
      ),
      Buffer.from(part('image', `Content-Type: ${type}\r\n`)),
      makePng(),
      Buffer.from('\r\n--there--\r\n'),
    ]);
    const response = await send(body);
    expect(response.status).toBe(200);
    expect(String(gallery.painter.requests.at(-1)?.body)).toMatch(
      /name="image"; filename="image-1.png"\r\ncontent-type: image\/png/,
    );
  },
);

it.each([
  'no form at all',
  '--there\r\nContent-Disposition: form-data; name="model"\r\n\r\nx',
  '--there\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\nx',
  '',
])('a form is refused as broken: %j', async (body) => {
  const response = await send(body);
  expect(response.status).toBe(400);
});

it.each([
  ['half of JSON', 'application/json', '{"model":'],
  ['fields of a page', 'application/x-www-form-urlencoded', 'model=openai/gpt-image-1.5&prompt=Night'],
  ['a bare picture', 'image/png', makePng()],
  ['nothing', '', ''],
])('a form is read as JSON and refused if it is sent as %s', async (_, type, body) => {
  const response = await send(body, type ? { 'content-type': type } : {});
  expect([response.status, await response.text()]).toEqual([
    400,
    expect.stringMatching(/not valid (JSON|UTF-8)/),
  ]);
});

it('a form is refused by generations, and the error asks for JSON', async () => {
  const response = await gallery.post(
    '/v1/images/generations',
    buildEditForm({}, [['image', makePng(), 'a.png']]),
  );
  expect([response.status, await response.json()]).toMatchObject([
    415,
    { error: { code: 'unsupported_media_type', message: 'The body must be sent as application/json.' } },
  ]);
});

it.each<[string, string, number, string, number, RegExp]>([
  ['begins late', 'x', 30, '--there--\r\n', 413, /1000000 bytes/],
  [
    'has a head without end',
    '--there\r\nX-Long: ',
    9,
    '\r\n\r\n\r\n--there--\r\n',
    400,
    /a head of more than 4096 bytes/,
  ],
])(
  'a form without a content-length is held to the limits: it %s',
  async (_, before, count, behind, status, message) => {
    const pieces = [before, ...Array.from({ length: count }, () => 'x'.repeat(100_000)), behind];
    const response = await send(ReadableStream.from(pieces.map((piece) => Buffer.from(piece))));
    expect([response.status, await response.json()]).toMatchObject([
      status,
      { error: { message: expect.stringMatching(message) } },
    ]);
  },
);

it('a form keeps a nested form closed: its parts are no pictures and no fields', async () => {
  const inside = '--inner\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nsmuggled\r\n--inner--\r\n';
  const part = (head: string, text: string): string =>
    `--there\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
  const fields = part('name="model"', 'openai/gpt-image-1.5') + part('name="quality"', 'low');
  for (const head of [
    'name="image"\r\nContent-Type: multipart/mixed; boundary=inner',
    'name="image"; filename="a.png"\r\nContent-Type: multipart/form-data; boundary=inner',
  ]) {
    const requestCount = gallery.painter.requests.length;
    const response = await send(`${fields}${part(head, inside)}--there--\r\n`);
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: expect.objectContaining({ message: expect.not.stringContaining('smuggled') }) },
    ]);
    expect(gallery.painter.requests.length).toBe(requestCount);
  }
});

it('a form does not touch the prototype of objects', async () => {
  const response = await gallery.post(edits, buildEditForm({ ['__proto__']: 'x' }));
  expect(response.status).toBe(400);
  expect({}).not.toHaveProperty('0');
});

it('a form is not read without a key', async () => {
  const response = await fetch(gallery.gateway.url + edits, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-wrong' },
    body: buildEditForm(),
  });
  expect(response.status).toBe(401);
});
