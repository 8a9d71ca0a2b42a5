/**
 * An attacker that tries keys, as a process of its own: so many a second, over connections from so many
 * addresses of loopback (Linux has all of 127/8). One in ten keys has a valid checksum. Prints the replies it
 * got at its end.
 *
 * node test/support/key-flood.ts <url> <keys> <a second> <addresses>
 */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { createSecret } from '../../plugins/shared/secret.ts';

const [url = '', keys = '0', perSecond = '0', addresses = '1'] = process.argv.slice(2);
const wanted = Number(keys);
/** Milliseconds of jitter: real clients do not send in step. */
const every = 1;
const least = 100;

const answered: Record<string, number> = {};
const idle: Socket[] = [];
let sent = 0;
let back = 0;
const began = performance.now();

function tell(): void {
  process.stdout.write(
    JSON.stringify({ answered, perSecond: Math.round(back / ((performance.now() - began) / 1000)) }),
  );
  process.exit();
}

function open(from: string): void {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress: from }, () =>
    idle.push(socket),
  );
  socket.on('error', () => undefined);
  socket.on('data', (bytes) => {
    const status = /^HTTP\/1\.1 (\d{3})/.exec(bytes.toString('latin1'))?.[1];
    if (status === undefined) return;
    answered[status] = (answered[status] ?? 0) + 1;
    back += 1;
    idle.push(socket);
    if (back >= wanted) tell();
  });
  socket.on('close', () => {
    const place = idle.indexOf(socket);
    if (place >= 0) idle.splice(place, 1);
    open(from);
  });
}

for (let count = 0; count < Math.max(least, Number(addresses)); count += 1)
  open(
    addresses === '1'
      ? '127.0.0.1'
      : `127.7.${(count % Number(addresses)) >> 8}.${(count % Number(addresses)) & 255}`,
  );

setInterval(() => {
  const due = Math.min(wanted, ((performance.now() - began) / 1000) * Number(perSecond));
  while (sent < due) {
    const socket = idle.shift();
    if (!socket) break;
    const key = sent % 10 === 0 ? createSecret() : `sk-${randomBytes(21).toString('hex')}`;
    sent += 1;
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
        'content-length: 2\r\n\r\n{}',
    );
  }
}, every);
