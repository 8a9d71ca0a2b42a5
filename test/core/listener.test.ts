/** The HTTP listener. `.ci/run` runs this file with the oldest supported Node too. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { closeListener, listen, formatUrl } from '../../core/http/listener.ts';

const logger = pino({ level: 'silent' });

it('the listener closes a connection without any request when it stops', async () => {
  const server = await listen({ host: '127.0.0.1', port: 0 }, () => undefined, logger);
  const accepted = once(server, 'connection');
  const socket = connect(Number(new URL(formatUrl(server, '127.0.0.1')).port), '127.0.0.1');
  const ended = once(socket, 'end');
  await accepted;
  await closeListener(server);
  expect(await ended).toEqual([]);
});

it('the listener serves a request on a connection that was open before it stops', async () => {
  const server = await listen(
    { host: '127.0.0.1', port: 0 },
    (_, response) => void setTimeout(() => response.end('served'), 200),
    logger,
  );
  const arrived = once(server, 'request');
  const reply = fetch(formatUrl(server, '127.0.0.1'));
  await arrived;
  const closed = closeListener(server);
  expect(await (await reply).text()).toBe('served');
  await closed;
});

it('the listener serves a request that arrived while its process was busy past the grace', async () => {
  const server = await listen(
    { host: '127.0.0.1', port: 0 },
    (_, response) => response.end('served'),
    logger,
  );
  const accepted = once(server, 'connection');
  const socket = connect(Number(new URL(formatUrl(server, '127.0.0.1')).port), '127.0.0.1');
  const reply = Array.fromAsync(socket.setEncoding('utf8'));
  await Promise.all([accepted, once(socket, 'connect')]);
  const grace = 50;
  const closed = closeListener(server, grace);
  socket.write('GET / HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n\r\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * grace);
  expect((await reply).join('')).toMatch(/served$/);
  await closed;
});
