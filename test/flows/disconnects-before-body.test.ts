/**
 * Clients that disconnect before the gateway reads their body: the call still ends, and releases what it
 * reserved.
 */
import { once } from 'node:events';
import { request } from 'node:http';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { buildEditForm, openGallery, type Gallery } from '../images/gallery.ts';

/** Holds each request in its credential check until the client has disconnected. */
const authenticator = definePlugin({
  name: 'doorkeeper',
  options: z.strictObject({}),
  apply({ hooks }) {
    hooks.authenticate.tapPromise({ name: 'doorkeeper', stage: -50 }, async ({ headers, signal }) => {
      if (headers['user-agent'] === 'impatient' && !signal.aborted) await once(signal, 'abort');
      return undefined;
    });
  },
});

let gallery: Gallery;
beforeAll(
  async () =>
    void (gallery = await openGallery({
      settings: { server: { bodyLimit: 1_000_000, bodiesLimit: 1_000_000 } },
      plugins: [authenticator()],
    })),
);

const edits = '/v1/images/edits';

/** Sends a head and the start of a megabyte, and disconnects once those are on their way. */
async function leave(
  path: string,
  type: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<void> {
  const headers = {
    authorization: `Bearer ${gallery.key}`,
    'content-type': type,
    'content-length': '1000000',
    ...fields,
  };
  const upload = request(gallery.gateway.url + path, { method: 'POST', headers }).on(
    'error',
    () => undefined,
  );
  await new Promise<void>((resolve) => upload.write('--there\r\n', () => resolve()));
  upload.destroy();
}

const form = 'multipart/form-data; boundary=there';

it.each([
  ['/v1/chat/completions', 'application/json'],
  [edits, form],
])('a client that disconnects while its key is looked up ends its call: %s', async (path, type) => {
  const ended = gallery.gateway.ends.length;
  await leave(path, type, { 'user-agent': 'impatient' });
  expect((await gallery.gateway.ended(ended + 1))[ended]).toMatchObject({
    type: 'refused',
    error: { code: 'client_gone' },
  });
});

it('a client that disconnects at any moment releases the memory reserved for its form', async () => {
  const ended = gallery.gateway.ends.length;
  const rounds = 20;
  for (let round = 0; round < rounds; round += 1) {
    await leave(edits, form);
    expect((await gallery.gateway.ended(ended + round + 1))[ended + round]).toMatchObject({
      type: 'refused',
      error: { code: 'client_gone' },
    });
  }
  expect((await gallery.post(edits, buildEditForm())).status).toBe(200);
});
