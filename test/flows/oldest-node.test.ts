/**
 * The oldest Node that `engines` allows runs the gateway and its commands, and prints nothing that the newest
 * does not.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { minVersion } from 'semver';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { postJson } from '../support/post.ts';
import {
  clone,
  makeDataFolder,
  runVerb,
  startProcess,
  type Copy,
  type RunningGateway,
} from '../support/process.ts';

const root = join(import.meta.dirname, '../..');
const node = join(root, 'node_modules/node-24/bin/node');
const oldest: Copy = { ...clone, node };
const data = { TOLLGATE_DATA: makeDataFolder() };

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await startProcess(data, oldest);
});

async function createKey(): Promise<string> {
  const { code, output, errors } = await runVerb(
    ['keys', 'create', '--account', 'oldest', '--credit', '5', '--json'],
    data,
    oldest,
  );
  expect([code, errors]).toEqual([0, '']);
  return z.object({ key: z.string() }).parse(JSON.parse(output)).key;
}

it('the oldest Node is the one that package.json names', () => {
  const { engines, devDependencies } = z
    .object({ engines: z.object({ node: z.string() }), devDependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  expect(devDependencies['node-24']).toBe(`npm:node@${minVersion(engines.node)?.version}`);
});

it.each(['check', 'doctor', 'audit', '--help'])(
  'the oldest Node runs `%s` and prints nothing on stderr',
  async (verb) => {
    const { code, output, errors } = await runVerb(verb.split(' '), data, oldest);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(output).not.toBe('');
  },
);

it('the oldest Node answers calls on every wire, whole and streamed, and charges them', async () => {
  const key = await createKey();
  const credentials = { authorization: `Bearer ${key}`, 'x-api-key': key, 'x-goog-api-key': key };
  const headers = { ...credentials, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  const user = [{ role: 'user', content: 'Hello!' }];
  const model = 'demo/echo';
  const calls: [path: string, body: object][] = [
    ['/v1/chat/completions', { model, messages: user }],
    ['/v1/chat/completions', { model, messages: user, stream: true }],
    ['/v1/responses', { model, input: 'Hello!' }],
    ['/v1/responses', { model, input: 'Hello!', stream: true }],
    ['/alpha/v1/messages', { model, max_tokens: 100, messages: user }],
    ['/alpha/v1/messages', { model, max_tokens: 100, messages: user, stream: true }],
    [
      '/beta/v1beta/models/demo/echo:generateContent',
      { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] },
    ],
    [
      '/beta/v1beta/models/demo/echo:streamGenerateContent?alt=sse',
      { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] },
    ],
  ];
  for (const [path, body] of calls) {
    const response = await postJson(gateway.url + path, body, headers);
    expect([path, response.status, await response.text()]).toEqual([
      path,
      200,
      expect.stringContaining('demo'),
    ]);
  }
  const { errors, output } = await runVerb(['usage', '--account', 'oldest', '--json'], data, oldest);
  expect([errors, JSON.parse(output)]).toMatchObject(['', [{ calls: calls.length }]]);
});

it('the oldest Node stops, and has printed nothing on stderr but its log', async () => {
  const { code, errors } = await gateway.stop('SIGTERM');
  const strange = errors.split('\n').filter((line) => line !== '' && !line.startsWith('{"level":30,'));
  expect({ code, strange }).toEqual({ code: 0, strange: [] });
});
