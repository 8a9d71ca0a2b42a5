/** A form that never ends is dropped: a large one at the least rate, a small one at the request timeout. */
import { expect, it } from 'vitest';
import { openGallery } from '../images/gallery.ts';
import { openSocket } from '../support/raw-socket.ts';

/** Seconds; a request has 120 to arrive, and the listener checks every 5. */
const longest = 240;

it.each([
  ['900000 bytes', 'at the least rate', 900_000, 'request_timeout'],
  ['60000 bytes', 'at the request timeout', 60_000, 'client_gone'],
] as const)('a hundred slow uploads of %s get an error %s', async (_, _when, size, code) => {
  const gallery = await openGallery();
  const head =
    `POST /v1/images/edits HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gallery.key}\r\n` +
    `content-type: multipart/form-data; boundary=there\r\ncontent-length: ${size}\r\n\r\n`;
  const part =
    '--there\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n' +
    'Content-Type: image/png\r\n\r\n';
  const began = performance.now();
  const answers: string[] = [];
  const sockets = await Promise.all(Array.from({ length: 100 }, () => openSocket(gallery.gateway.url)));
  for (const socket of sockets) {
    let answer = '';
    socket
      .on('error', () => undefined)
      .on('data', (bytes) => void (answer += bytes.toString()))
      .on('close', () => answers.push(answer.slice(0, 12)));
    socket.write(head + part);
  }
  const drip = setInterval(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write('x');
  }, 1000);
  await expect.poll(() => answers.length, { timeout: longest * 1000, interval: 500 }).toBe(sockets.length);
  clearInterval(drip);
  process.stdout.write(`${((performance.now() - began) / 1000).toFixed(0)} s\n`);
  expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 408']));
  expect(
    (await gallery.gateway.ended(sockets.length)).map((end) => end.type === 'refused' && end.error.code),
  ).toEqual(sockets.map(() => code));
  expect(await gallery.gateway.verb('audit')).toMatchObject({ ok: true, pending: 0 });
  await gallery.close();
});
