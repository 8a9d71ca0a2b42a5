/**
 * Clients that leave before their body is looked for: the call ends all the same, and what it held is given
 * back.
 */
import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definePlugin } from '../../core/index.ts';
import { editForm, openGallery, type Gallery } from '../images/gallery.ts';

/** Keeps whoever asks for it at the door until they have left. */
const doorkeeper = definePlugin({
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
      plugins: [doorkeeper()],
    })),
);
afterAll(() => gallery.close());

const edits = '/v1/images/edits';

/** Sends a head and the first of a megabyte, and leaves once that is on its way. */
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
  const leaving = request(gallery.gateway.url + path, { method: 'POST', headers }).on(
    'error',
    () => undefined,
  );
  await new Promise<void>((resolve) => leaving.write('--there\r\n', () => resolve()));
  leaving.destroy();
}

const form = 'multipart/form-data; boundary=there';

describe('a client that leaves', () => {
  it.each([
    ['/v1/chat/completions', 'application/json'],
    [edits, form],
  ])('while it is looked up has called %s, and is gone', async (path, type) => {
    const ended = gallery.gateway.ends.length;
    await leave(path, type, { 'user-agent': 'impatient' });
    expect((await gallery.gateway.ended(ended + 1))[ended]).toMatchObject({
      type: 'refused',
      error: { code: 'client_gone' },
    });
  });

  it('at any moment gives back what its form was to hold', async () => {
    const ended = gallery.gateway.ends.length;
    const rounds = 20;
    for (let round = 0; round < rounds; round += 1) {
      await leave(edits, form);
      expect((await gallery.gateway.ended(ended + round + 1))[ended + round]).toMatchObject({
        type: 'refused',
        error: { code: 'client_gone' },
      });
    }
    expect((await gallery.post(edits, editForm())).status).toBe(200);
  });
});
