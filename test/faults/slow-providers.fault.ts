/** Providers as slow as the slowest: clients wait for them and notice nothing else. */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, it } from 'vitest';
import {
  modelOf,
  openOperated,
  buildStreamedCall,
  waitUntil,
  wires,
  type Operated,
  type Wire,
} from '../support/operated.ts';
import type { RunningGateway } from '../support/process.ts';
import { createSdkClients } from '../support/sdk-clients.ts';

let operated: Operated;
let gateway: RunningGateway;
beforeAll(async () => {
  operated = await openOperated();
  operated.configure('}, timeouts: { firstEvent: 700');
  gateway = await operated.start();
});

const seconds = 1000;
const pieces = ['one ', 'two ', 'three'];

/** What an official SDK of a protocol receives; no SDK may ask twice. */
async function hear(wire: Wire): Promise<string> {
  const client = createSdkClients(gateway.url, operated.key)[wire]({ text: 'Hello there, who is it?' });
  return (await client.ask(modelOf[wire], 'streamed')).text;
}

/**
 * What a client without a timeout receives. Node's own `fetch` waits five minutes for a head, and no stream
 * of this protocol may send keep-alives.
 */
function listen(): Promise<string> {
  const { path, body } = buildStreamedCall('generate-content');
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${operated.key}`, 'content-type': 'application/json' };
    request(gateway.url + path, { method: 'POST', headers }, (response) => resolve(text(response)))
      .on('error', reject)
      .end(JSON.stringify(body));
  });
}

/** How often the providers were called. */
function countRequests(): number {
  const { openai, anthropic, google } = operated.vendors;
  return [openai, anthropic, google].reduce((sum, { requests }) => sum + requests.length, 0);
}

it('a slow provider is waited for by every SDK: ten minutes to begin, 45 seconds an event', async () => {
  const delays = [1, 29, 61, 600, 0];
  operated.vendors.script('*', ({ turn }) => ({
    text: pieces,
    delayHeaders: (delays[turn] ?? 0) * seconds,
    delayEvents: delays[turn] === 0 ? 45 * seconds : 0,
  }));
  const heard: Promise<string>[] = [];
  for (const wire of wires) {
    for (const delay of delays) {
      // For one protocol the longest wait is too long for an SDK.
      const waits = wire === 'generate-content' && delay === 600;
      heard.push(
        waits
          ? listen().then((stream) => stream.replaceAll(/[^]*?"text":\s*"([^"]*)"|[^]+/g, '$1'))
          : hear(wire),
      );
      await waitUntil(() => countRequests() === heard.length);
    }
  }
  expect(await Promise.all(heard)).toEqual(heard.map(() => pieces.join('')));
  expect(countRequests()).toBe(heard.length);
  expect(await operated.verb('audit')).toMatchObject({ ok: true, pending: 0 });
});
