/** The form guard gives the same result whatever chunks a form arrives in. */
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { FormGuard } from '../../core/http/uploads.ts';
import { GatewayError } from '../../core/index.ts';

const buildSizeError = (): GatewayError => new GatewayError('body_too_large', 'too large');

async function passForm(form: string, size: number, limit = 1_000_000): Promise<string> {
  const pieces = Array.from({ length: Math.ceil(form.length / size) }, (_, index) =>
    Buffer.from(form.slice(index * size, (index + 1) * size)),
  );
  const guard = new FormGuard(
    { 'content-type': 'multipart/form-data; boundary="here"' },
    limit,
    buildSizeError,
  );
  return Buffer.concat(await Readable.from(pieces).pipe(guard).toArray()).toString();
}

const part = (head: number, body: number): string =>
  `--here\r\n${'h'.repeat(head)}\r\n\r\n${'b\r\n--her'.repeat(body)}\r\n`;
const end = '--here--\r\n';

describe.each([1, 2, 7, 11, 64, 4096, 65_536])('forms in chunks of %i bytes', (size) => {
  it('passes a form through unchanged, however long its parts are', async () => {
    const form = `${part(4000, 800)}${part(0, 800)}${part(4000, 0)}${end}behind it`;
    expect(await passForm(form, size)).toBe(form);
  });

  it.each([
    ['in its first part', part(4200, 1)],
    ['in a later one', `${part(10, 900)}${part(4200, 1)}`],
    ['without end', `${part(10, 1)}--here\r\n${'h'.repeat(5000)}`],
  ])('stops at a long part head %s', async (_, form) => {
    await expect(passForm(form + end, size)).rejects.toThrow(/a head of more than 4096 bytes/);
  });

  it('stops a form that is too long', async () => {
    expect(await passForm('x'.repeat(9000), size, 9000)).toHaveLength(9000);
    await expect(passForm('x'.repeat(9001), size, 9000)).rejects.toThrow(/too large/);
  });
});
