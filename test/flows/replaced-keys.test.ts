/** A provider's key that is referred to: it is replaced while calls go on, and no call fails for it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { End } from '../../core/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { defineProvider } from '../../plugins/shared/kit.ts';
import { makeFolder } from '../support/folder.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { chatReply } from '../support/replies.ts';
import { sendJson, startScriptedVendor } from '../support/scripted-vendor.ts';
import { acceptAnyKey } from '../support/test-provider.ts';

const keyed = defineProvider({
  name: 'keyed',
  env: { key: 'KEYED_API_KEY', baseUrl: 'KEYED_BASE_URL' },
  baseUrl: 'https://keyed.invalid/v1',
  endpoints: { 'chat-completions': '/chat/completions' },
  models: new URL('../../plugins/providers/catalogue/deepseek.json', import.meta.url),
});

let file: string;
const accepted = new Set<string>();
let refuse = 401;
let seen: string[] = [];
let gateway: TestGateway;
let client: OpenAI;

/** Refuses a key in the words of OpenAI, with which it also repeats a part of it. */
beforeAll(async () => {
  const vendor = await startScriptedVendor((response, request) => {
    const key = String(request.headers.authorization).replace('Bearer ', '');
    seen.push(key);
    if (accepted.has(key)) return sendJson(response, chatReply('one', {}, [3, 4]));
    const error = { message: `Incorrect API key provided: ${key}.`, type: 'invalid_request_error' };
    response.writeHead(refuse, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { ...error, code: 'invalid_api_key', param: null } }));
  });
  file = join(makeFolder(), 'key');
  writeFileSync(file, 'key-one\n');
  const providers = [keyed({ apiKey: `file:${file}`, baseUrl: vendor.origin })];
  gateway = await startGateway({ plugins: [acceptAnyKey(), chatCompletions(), ...providers] });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'any', maxRetries: 0 });
});

beforeEach(() => {
  seen = [];
  refuse = 401;
  accepted.clear();
});

async function call(): Promise<End | undefined> {
  const before = gateway.ends.length;
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  await client.chat.completions
    .create({ model: 'deepseek/deepseek-v4-flash', messages })
    .catch(() => undefined);
  return (await gateway.ended(before + 1)).at(before);
}

/** What a call came to: its end, the status and the errors of its attempts. */
async function callOnce() {
  const end = await call();
  const attempts = (end?.type === 'refused' ? undefined : end?.attempts) ?? [];
  return [end?.type, attempts.map(({ status, error }) => error?.code ?? status)];
}

it.each([401, 400])(
  'a key that is refused with %i is read again, and the one attempt of the call succeeds with the new one',
  async (status) => {
    refuse = status;
    writeFileSync(file, 'key-one\n');
    accepted.add('key-one');
    expect(await callOnce()).toEqual(['answered', [200]]);
    const next = `key-of-${status}`;
    accepted.clear();
    accepted.add(next);
    writeFileSync(file, `${next}\n`);
    seen = [];
    expect(await callOnce()).toEqual(['answered', [200]]);
    expect(seen.at(-1)).toBe(next);
    expect(seen.length).toBeLessThanOrEqual(2);
  },
);

it('the second line is shown if the first is refused, and first from then on', async () => {
  writeFileSync(file, 'not-yet\nstill-good\n');
  accepted.add('still-good');
  expect(await callOnce()).toEqual(['answered', [200]]);
  seen = [];
  expect(await callOnce()).toEqual(['answered', [200]]);
  expect(await callOnce()).toEqual(['answered', [200]]);
  expect(seen).toEqual(['still-good', 'still-good']);
});

it('a refused key without another fails the call after one request, and is in no log', async () => {
  writeFileSync(file, 'the-revoked-canary\n');
  await expect
    .poll(async () => (await callOnce(), seen.at(-1)), { timeout: 60_000 })
    .toBe('the-revoked-canary');
  seen = [];
  expect(await callOnce()).toEqual(['failed', ['upstream_failed']]);
  expect(seen).toEqual(['the-revoked-canary']);
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  const refused = client.chat.completions.create({ model: 'deepseek/deepseek-v4-flash', messages });
  await expect(refused).rejects.toMatchObject({ status: 502 });
  await expect(refused).rejects.not.toThrow(/canary|key-/);
  expect(gateway.log.join('')).not.toContain('canary');
});

it('calls that are refused at once all get the new key', async () => {
  writeFileSync(file, 'key-before\n');
  accepted.add('key-before');
  await expect.poll(async () => (await callOnce(), seen.at(-1)), { timeout: 60_000 }).toBe('key-before');
  accepted.clear();
  accepted.add('key-after');
  writeFileSync(file, 'key-after\n');
  const ends = gateway.ends.length;
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  const create = () => client.chat.completions.create({ model: 'deepseek/deepseek-v4-flash', messages });
  await Promise.all(Array.from({ length: 20 }, create));
  const all = (await gateway.ended(ends + 20)).slice(ends);
  expect(all.map(({ type }) => type)).toEqual(Array.from({ length: 20 }, () => 'answered'));
});
