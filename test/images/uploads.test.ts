/** Uploaded files: how many, how large, and in which order. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildEditForm, jpegBytes, openGallery, makePng, type Gallery } from './gallery.ts';

const edits = '/v1/images/edits';

const dataFolder = mkdtempSync(join(tmpdir(), 'tollgate-uploads-'));
let gallery: Gallery;
beforeAll(
  async () =>
    void (gallery = await openGallery({ settings: { dataFolder, server: { bodyLimit: 1_000_000 } } })),
);
afterAll(async () => {
  rmSync(dataFolder, { recursive: true, force: true });
});

it('a form is read in memory, with fifty at once, and no folder is made for it', async () => {
  const large = Buffer.concat([makePng(), Buffer.alloc(300_000)]);
  const replies = await Promise.all(
    Array.from({ length: 50 }, () =>
      gallery.post(
        edits,
        buildEditForm({}, [
          ['image', large, 'large.png'],
          ['mask', makePng(), 'm.png'],
        ]),
      ),
    ),
  );
  expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
  expect(existsSync(join(dataFolder, 'uploads'))).toBe(false);
});

it.each<[string, () => FormData, number, RegExp]>([
  [
    'that is no picture',
    () => buildEditForm({}, [['image', Buffer.from('hello'), 'a.png']]),
    400,
    /not a PNG or JPEG/,
  ],
  ['that lacks a field', () => buildEditForm({ prompt: undefined }), 400, /"prompt" is missing/],
  [
    'that is too large',
    () => buildEditForm({}, [['image', Buffer.concat([makePng(), Buffer.alloc(1_000_000)]), 'a.png']]),
    413,
    /1000000 bytes/,
  ],
  [
    'of too many fields',
    () => buildEditForm(Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`x${index}`, 'y']))),
    413,
    /64 fields/,
  ],
  [
    'of too many files',
    () =>
      buildEditForm(
        {},
        Array.from({ length: 33 }, () => ['image[]', makePng(), 'a.png']),
      ),
    413,
    /32 files/,
  ],
  [
    'of a hundred files',
    () =>
      buildEditForm(
        {},
        Array.from({ length: 100 }, () => ['image[]', makePng(), 'a.png']),
      ),
    413,
    /32 files/,
  ],
  [
    'of ten thousand parts',
    () => buildEditForm(Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`x${index}`, 'y']))),
    413,
    /64 fields/,
  ],
  [
    'with a name of a megabyte',
    () => buildEditForm({ ['x'.repeat(900_000)]: 'y' }),
    400,
    /a name of more than 100/,
  ],
  ['with a name too long', () => buildEditForm({ ['x'.repeat(101)]: 'y' }), 400, /a name of more than 100/],
  [
    'with a name of a thing everything has',
    () => buildEditForm({ constructor: 'x' }),
    400,
    /Unknown parameter: 'constructor'/,
  ],
  [
    'that goes to a model that edits nothing',
    () => buildEditForm({ model: 'google/gemini-2.5-flash-image' }),
    400,
    /Image editing is not supported for model/,
  ],
  [
    'that its vendor refuses',
    () => buildEditForm({ output_compression: '50' }),
    400,
    /Compression less than 100 is not supported/,
  ],
])('a form is refused: %s', async (_, form, status, message) => {
  const response = await gallery.post(edits, form());
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ error: { message: expect.stringMatching(message) } });
});

it('a form is passed on in its own order, whichever file is the largest', async () => {
  const large = Buffer.concat([makePng(), Buffer.alloc(600_000)]);
  for (let round = 0; round < 10; round += 1) {
    const response = await gallery.post(
      edits,
      buildEditForm({}, [
        ['image[]', large, 'a.png'],
        ['image[]', jpegBytes, 'b.jpg'],
        ['image[]', makePng(), 'c.png'],
        ['image[]', jpegBytes, 'd.jpg'],
      ]),
    );
    expect(response.status).toBe(200);
    const kinds = [
      ...String(gallery.painter.requests.at(-1)?.body).matchAll(/content-type: image\/(\w+)/g),
    ].map(([, kind]) => kind);
    expect(kinds).toEqual(['png', 'jpeg', 'png', 'jpeg']);
  }
});

it('a form blocks no other call if it arrives slowly, and is read whole', async () => {
  const body = Buffer.from(
    await new Response(
      buildEditForm({}, [['image', Buffer.concat([makePng(), Buffer.alloc(50_000)]), 'a.png']]),
    ).arrayBuffer(),
  );
  const boundary = /^--(\S+)/.exec(body.toString('latin1'))?.[1] ?? '';
  const headers = {
    authorization: `Bearer ${gallery.key}`,
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'content-length': body.length,
  };
  const slow = Promise.withResolvers<number | undefined>();
  const sending = request(gallery.gateway.url + edits, { method: 'POST', headers }, (response) =>
    slow.resolve(response.resume().statusCode),
  ).on('error', slow.reject);
  for (let at = 0; at < body.length; at += 5000) {
    sending.write(body.subarray(at, at + 5000));
    if (at === 25_000) expect((await gallery.post(edits, buildEditForm())).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  sending.end();
  expect(await slow.promise).toBe(200);
});

it('a form ends as its client disconnects half-way', async () => {
  const head =
    '--there\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n' +
    'Content-Type: image/png\r\n\r\n';
  const headers = {
    authorization: `Bearer ${gallery.key}`,
    'content-type': 'multipart/form-data; boundary=there',
    'content-length': '900000',
  };
  const upload = request(gallery.gateway.url + edits, { method: 'POST', headers });
  upload.on('error', () => undefined);
  await new Promise((resolve) =>
    upload.write(Buffer.concat([Buffer.from(head), Buffer.alloc(200_000)]), resolve),
  );
  upload.destroy();
  await expect
    .poll(() => gallery.gateway.ends.map((end) => end.type === 'refused' && end.error.code))
    .toContain('client_gone');
});
