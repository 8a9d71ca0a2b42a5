/** Uploaded files: how many, how large, and that none remains on disk. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onLinux } from '../support/available.ts';
import { editForm, jpegBytes, openGallery, pngBytes, type Gallery } from './gallery.ts';

const dataFolder = mkdtempSync(join(tmpdir(), 'tollgate-uploads-'));
const uploads = join(dataFolder, 'uploads');

function left(): string[] {
  try {
    return existsSync(uploads) ? readdirSync(uploads, { recursive: true }).map(String) : [];
  } catch {
    return ['what went while it was looked at'];
  }
}

/** The path that a descriptor is open on. */
function targetOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return '';
  }
}

let gallery: Gallery;
beforeAll(
  async () =>
    void (gallery = await openGallery({ settings: { dataFolder, server: { bodyLimit: 1_000_000 } } })),
);
afterAll(async () => {
  await gallery.close();
  rmSync(dataFolder, { recursive: true, force: true });
});

const edits = '/v1/images/edits';

/** Waits until no call's folder is left. */
async function nothingLeft(): Promise<void> {
  await expect.poll(left).toEqual([]);
}

describe('a form', () => {
  it('is on disk only while it is read, with fifty at once', async () => {
    const large = Buffer.concat([pngBytes(), Buffer.alloc(300_000)]);
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, left().length)), 1);
    const replies = await Promise.all(
      Array.from({ length: 50 }, () =>
        gallery.post(
          edits,
          editForm({}, [
            ['image', large, 'large.png'],
            ['mask', pngBytes(), 'm.png'],
          ]),
        ),
      ),
    );
    clearInterval(watch);
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
    expect(most).toBeGreaterThan(0);
    await nothingLeft();
  });

  it.each<[string, () => FormData, number, RegExp]>([
    [
      'that is no picture',
      () => editForm({}, [['image', Buffer.from('hello'), 'a.png']]),
      400,
      /no PNG or JPEG/,
    ],
    ['that lacks a field', () => editForm({ prompt: undefined }), 400, /"prompt" is missing/],
    [
      'that is too large',
      () => editForm({}, [['image', Buffer.concat([pngBytes(), Buffer.alloc(1_000_000)]), 'a.png']]),
      413,
      /1000000 bytes/,
    ],
    [
      'of too many fields',
      () => editForm(Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`x${index}`, 'y']))),
      413,
      /64 fields/,
    ],
    [
      'of too many files',
      () =>
        editForm(
          {},
          Array.from({ length: 33 }, () => ['image[]', pngBytes(), 'a.png']),
        ),
      413,
      /32 files/,
    ],
    [
      'of a hundred files',
      () =>
        editForm(
          {},
          Array.from({ length: 100 }, () => ['image[]', pngBytes(), 'a.png']),
        ),
      413,
      /32 files/,
    ],
    [
      'of ten thousand parts',
      () => editForm(Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`x${index}`, 'y']))),
      413,
      /64 fields/,
    ],
    [
      'with a name of a megabyte',
      () => editForm({ ['x'.repeat(900_000)]: 'y' }),
      400,
      /a name of more than 100/,
    ],
    ['with a name too long', () => editForm({ ['x'.repeat(101)]: 'y' }), 400, /a name of more than 100/],
    [
      'with a name of a thing everything has',
      () => editForm({ constructor: 'x' }),
      400,
      /Unknown parameter: 'constructor'/,
    ],
    [
      'that goes to a model that edits nothing',
      () => editForm({ model: 'google/gemini-2.5-flash-image' }),
      400,
      /Image editing is not supported for model/,
    ],
    [
      'that its vendor refuses',
      () => editForm({ output_compression: '50' }),
      400,
      /Compression less than 100 is not supported/,
    ],
  ])('leaves nothing on disk: %s', async (_, form, status, message) => {
    const response = await gallery.post(edits, form());
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringMatching(message) } });
    await nothingLeft();
  });

  it('is passed on in its own order, whichever file was written first', async () => {
    const large = Buffer.concat([pngBytes(), Buffer.alloc(600_000)]);
    for (let round = 0; round < 10; round += 1) {
      const response = await gallery.post(
        edits,
        editForm({}, [
          ['image[]', large, 'a.png'],
          ['image[]', jpegBytes, 'b.jpg'],
          ['image[]', pngBytes(), 'c.png'],
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

  it('gets the type of a picture from its bytes, whatever its name is', async () => {
    const response = await gallery.post(
      edits,
      editForm({}, [['image', jpegBytes, '../../etc/passwd"\r\n.png']]),
    );
    expect(response.status).toBe(200);
    expect(String(gallery.painter.requests.at(-1)?.body)).toMatch(
      /name="image"; filename="image-1.jpg"\r\ncontent-type: image\/jpeg/,
    );
  });

  it('may state a type for its texts', async () => {
    const boundary = 'there';
    const text = (name: string, value: string): string =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n` +
      `Content-Type: text/plain; charset=utf-8\r\n\r\n${value}\r\n`;
    const head =
      `--${boundary}\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n` +
      'Content-Type: image/png\r\n\r\n';
    const body = Buffer.concat([
      Buffer.from(
        text('model', 'openai/gpt-image-1.5') + text('prompt', 'Nacht – 夜') + text('quality', 'low') + head,
      ),
      pngBytes(),
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]);
    const headers = {
      authorization: `Bearer ${gallery.key}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
    };
    const response = await fetch(gallery.gateway.url + edits, { method: 'POST', headers, body });
    expect(response.status).toBe(200);
    expect(String(gallery.painter.requests.at(-1)?.body)).toContain('Nacht – 夜');
    await nothingLeft();
  });

  it.each(['no form at all', '--there\r\nContent-Disposition: form-data; name="model"\r\n\r\nx', ''])(
    'is refused as broken: %j',
    async (body) => {
      const headers = {
        authorization: `Bearer ${gallery.key}`,
        'content-type': 'multipart/form-data; boundary=there',
      };
      const response = await fetch(gallery.gateway.url + edits, { method: 'POST', headers, body });
      expect(response.status).toBe(400);
      await nothingLeft();
    },
  );

  it.runIf(onLinux)('that breaks off within a file leaves none open', async () => {
    const body = Buffer.concat([
      Buffer.from(
        '--there\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n' +
          'Content-Type: image/png\r\n\r\n',
      ),
      pngBytes(),
    ]);
    const headers = {
      authorization: `Bearer ${gallery.key}`,
      'content-type': 'multipart/form-data; boundary=there',
    };
    for (let round = 0; round < 20; round += 1)
      expect((await fetch(gallery.gateway.url + edits, { method: 'POST', headers, body })).status).toBe(400);
    const open = (): string[] =>
      readdirSync('/proc/self/fd')
        .map(targetOf)
        .filter((target) => target.includes(uploads));
    await expect.poll(open).toEqual([]);
  });

  it.each([
    [
      'JSON',
      'application/json',
      JSON.stringify({
        model: 'openai/gpt-image-1.5',
        prompt: 'Night',
        quality: 'low',
        images: [{ image_url: 'https://images.example/a.png' }],
      }),
    ],
    ['half of JSON', 'application/json', '{"model":'],
    ['fields of a page', 'application/x-www-form-urlencoded', 'model=openai/gpt-image-1.5&prompt=Night'],
    ['a bare picture', 'image/png', pngBytes()],
    ['nothing', '', ''],
  ])('is refused if it is sent as %s, and the error asks for a form', async (_, type, body) => {
    const headers = { authorization: `Bearer ${gallery.key}`, ...(type ? { 'content-type': type } : {}) };
    const response = await fetch(gallery.gateway.url + edits, { method: 'POST', headers, body });
    expect([response.status, await response.json()]).toMatchObject([
      415,
      {
        error: { code: 'unsupported_media_type', message: 'The body must be sent as multipart/form-data.' },
      },
    ]);
  });

  it('is refused by generations, and the error asks for JSON', async () => {
    const response = await gallery.post(
      '/v1/images/generations',
      editForm({}, [['image', pngBytes(), 'a.png']]),
    );
    expect([response.status, await response.json()]).toMatchObject([
      415,
      { error: { code: 'unsupported_media_type', message: 'The body must be sent as application/json.' } },
    ]);
  });

  it.each<[string, string, string, number, RegExp]>([
    ['begins late', 'x', '--there--\r\n', 413, /1000000 bytes/],
    [
      'has a head without end',
      '--there\r\nX-Long: ',
      '\r\n\r\n\r\n--there--\r\n',
      400,
      /a head of more than 4096 bytes/,
    ],
  ])(
    'is held to the size limit without a content-length: it %s',
    async (_, before, behind, status, message) => {
      const pieces = [before, ...Array.from({ length: 30 }, () => 'x'.repeat(100_000)), behind];
      const headers = {
        authorization: `Bearer ${gallery.key}`,
        'content-type': 'multipart/form-data; boundary=there',
      };
      const response = await fetch(gallery.gateway.url + edits, {
        method: 'POST',
        headers,
        body: ReadableStream.from(pieces.map((piece) => Buffer.from(piece))),
        duplex: 'half',
      });
      expect([response.status, await response.json()]).toMatchObject([
        status,
        { error: { message: expect.stringMatching(message) } },
      ]);
      await nothingLeft();
    },
  );

  it('is refused if it is compressed', async () => {
    const headers = {
      authorization: `Bearer ${gallery.key}`,
      'content-type': 'multipart/form-data; boundary=there',
      'content-encoding': 'gzip',
    };
    const response = await fetch(gallery.gateway.url + edits, {
      method: 'POST',
      headers,
      body: gzipSync('--there--\r\n'),
    });
    expect([response.status, await response.json()]).toMatchObject([
      415,
      { error: { message: 'The body uses the content encoding "gzip"; send it uncompressed.' } },
    ]);
  });

  it('keeps a nested form closed: its parts are no pictures and no fields', async () => {
    const inside =
      '--inner\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nsmuggled\r\n--inner--\r\n';
    const part = (head: string, text: string): string =>
      `--there\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
    const fields = part('name="model"', 'openai/gpt-image-1.5') + part('name="quality"', 'low');
    const headers = {
      authorization: `Bearer ${gallery.key}`,
      'content-type': 'multipart/form-data; boundary=there',
    };
    for (const head of [
      'name="image"\r\nContent-Type: multipart/mixed; boundary=inner',
      'name="image"; filename="a.png"\r\nContent-Type: multipart/form-data; boundary=inner',
    ]) {
      const asked = gallery.painter.requests.length;
      const response = await fetch(gallery.gateway.url + edits, {
        method: 'POST',
        headers,
        body: `${fields}${part(head, inside)}--there--\r\n`,
      });
      expect([response.status, await response.json()]).toEqual([
        400,
        { error: expect.objectContaining({ message: expect.not.stringContaining('smuggled') }) },
      ]);
      expect(gallery.painter.requests.length).toBe(asked);
    }
    await nothingLeft();
  });

  it('blocks no other call if it arrives slowly, and is read whole', async () => {
    const body = Buffer.from(
      await new Response(
        editForm({}, [['image', Buffer.concat([pngBytes(), Buffer.alloc(50_000)]), 'a.png']]),
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
      if (at === 25_000) expect((await gallery.post(edits, editForm())).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    sending.end();
    expect(await slow.promise).toBe(200);
    await nothingLeft();
  });

  it('does not touch the prototype of objects', async () => {
    const response = await gallery.post(edits, editForm({ ['__proto__']: 'x' }));
    expect(response.status).toBe(400);
    expect({}).not.toHaveProperty('0');
    await nothingLeft();
  });

  it('is not read without a key', async () => {
    const response = await fetch(gallery.gateway.url + edits, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-wrong' },
      body: editForm(),
    });
    expect(response.status).toBe(401);
    await nothingLeft();
  });

  it('leaves nothing on disk if its client disconnects half-way', async () => {
    const head =
      '--there\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n' +
      'Content-Type: image/png\r\n\r\n';
    const headers = {
      authorization: `Bearer ${gallery.key}`,
      'content-type': 'multipart/form-data; boundary=there',
      'content-length': '900000',
    };
    const leaving = request(gallery.gateway.url + edits, { method: 'POST', headers });
    leaving.on('error', () => undefined);
    leaving.write(Buffer.concat([Buffer.from(head), Buffer.alloc(200_000)]));
    await expect.poll(() => left().length).toBeGreaterThan(1);
    const before = gallery.gateway.ends.length;
    leaving.destroy();
    const end = (await gallery.gateway.ended(before + 1)).at(-1);
    expect(end?.type === 'refused' && end.error.code).toBe('client_gone');
    await nothingLeft();
  });
});

describe('a start', () => {
  it('removes the files of a crashed process, and not those of another running gateway', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-crash-'));
    // The parent of this process is alive, and no process has so high an id. In a container, the crashed
    // process had our id.
    const made = ['alive', 'stale', 'dead', 'same'].map((name, index) =>
      join(folder, 'uploads', `${[process.ppid, process.ppid, 99_999_999, process.pid][index]}-${name}`),
    );
    for (const path of made) {
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, 'half'), 'a picture');
    }
    utimesSync(made[1] ?? '', new Date(0), new Date(0));
    const other = await openGallery({ settings: { dataFolder: folder } });
    expect(made.map((path) => existsSync(path))).toEqual([true, false, false, false]);
    await other.close();
    rmSync(folder, { recursive: true, force: true });
  });
});
