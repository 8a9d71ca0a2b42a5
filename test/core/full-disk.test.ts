/** A full disk during an upload: the error blames the gateway, not the client. */
import type * as fs from 'node:fs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, expect, it, vi } from 'vitest';
import { readUpload } from '../../core/http/uploads.ts';

vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  // Each write fails as on a full disk.
  return { ...real, createWriteStream: () => real.createWriteStream('/dev/full') };
});

const folder = mkdtempSync(join(tmpdir(), 'tollgate-full-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the gateway answers an upload to a full disk with a server error', async () => {
  const head = 'content-disposition: form-data; name="image"; filename="a.png"';
  const form = `--b\r\n${head}\r\n\r\n${'x'.repeat(100_000)}\r\n--b--\r\n`;
  const headers = {
    'content-type': 'multipart/form-data; boundary=b',
    'content-length': String(form.length),
  };
  const request = Object.assign(Readable.from([Buffer.from(form)]), { headers });
  const context = Object.assign(Object.create(null), {
    req: request,
    request: {},
    method: 'POST',
    is: () => 'multipart/form-data',
  });
  await expect(readUpload(context, 1_000_000, folder)).rejects.toMatchObject({
    code: 'internal',
    status: 500,
    message: expect.stringContaining('ENOSPC'),
  });
});
