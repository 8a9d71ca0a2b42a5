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
