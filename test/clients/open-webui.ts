/**
 * Open WebUI by the settings of `examples/clients`: it indexes files, finds the right one for a question, and
 * answers with it. The demo makes vectors and ranks, then a vendor of the client's wire makes vectors, then
 * one of another wire. It prints a row for the table of `test/README.md`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { openai } from '../../plugins/providers/openai.ts';
import { makeFolder, removeFolders } from '../support/folder.ts';
import { findFreePort } from '../support/free-port.ts';
import { startChatVendor } from '../support/vendor/index.ts';
import { installPackages } from './packages.ts';
import { openWordGateway } from './word-gateway.ts';

const texts = {
  'lamp.txt': 'A lighthouse is a lamp for ships at night',
  'tea.txt': 'Green tea is brewed with hot water',
  'bread.txt': 'Bread is made of flour and salt',
};
const question = 'which lamp helps ships at night';
const expected = texts['lamp.txt'];
const chatModel = 'openai/gpt-4o-mini';
const longestStart = 300_000;

// Its vectors are made by the gateway, so that it needs no libraries for making them.
const packages = await installPackages('open-webui', ['open-webui'], { absent: ['torch'] });
const vendor = await startChatVendor();
vendor.script('*', ({ request }) => {
  const asked = JSON.stringify(request);
  // It first asks the model what to search for.
  if (asked.includes('search queries')) return { text: JSON.stringify({ queries: [question] }) };
  return { text: Object.values(texts).find((text) => asked.includes(text)) ?? 'No text came.' };
});
const { gateway, key, close } = await openWordGateway([
  openai({ apiKey: vendor.key, baseUrl: vendor.url, models: { [chatModel]: { expires: null } } }),
]);
const example = readFileSync(join(import.meta.dirname, '../../examples/clients/open-webui/.env'), 'utf8');
const filled = example.replaceAll('http://127.0.0.1:8787', gateway.url).replaceAll('sk-your-key', key);
const settings = parseEnv(filled);
/** With what the file suggests for models that tell questions from documents. */
const purposes = parseEnv(filled.replaceAll('# RAG_', 'RAG_'));

/** Starts it with data of its own, and resolves to its address once it answers. */
async function startWebui(changes: Readonly<Record<string, string>>) {
  const [folder, port] = [makeFolder(), await findFreePort()];
  const { PATH = '' } = process.env;
  const words = ['serve', '--host', '127.0.0.1', '--port', String(port)];
  const child = spawn(join(packages.programs, 'open-webui'), words, {
    cwd: folder,
    env: {
      PATH,
      HOME: folder,
      DATA_DIR: folder,
      OFFLINE_MODE: 'true',
      HF_HUB_OFFLINE: '1',
      // So that a question finds one text, and not all three.
      RAG_TOP_K: '1',
      ...settings,
      ...changes,
    },
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
  const closed = once(child, 'close');
  const url = `http://127.0.0.1:${port}`;
  const answers = (): Promise<boolean> =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  const latest = Date.now() + longestStart;
  while (!(await answers())) {
    if (child.exitCode !== null || Date.now() > latest) {
      child.kill();
      throw new Error(`Open WebUI does not start: ${printed.slice(-2000)}`);
    }
    await pause(500);
  }
  return {
    url,
    printed: () => printed,
    async stop() {
      child.kill();
      await closed;
    },
  };
}

/** Indexes the texts and asks, as its pages do. Returns what went wrong; empty if nothing did. */
async function index(url: string): Promise<readonly string[]> {
  let token = '';
  const ask = async (path: string, body: FormData | object): Promise<unknown> => {
    const isForm = body instanceof FormData;
    const response = await fetch(`${url}/api/${path}`, {
      method: 'POST',
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(!isForm && { 'content-type': 'application/json' }),
      },
      body: isForm ? body : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 500)}`);
    return JSON.parse(text);
  };
  const admin = { name: 'Keeper', email: 'keeper@example.com', password: 'a long enough password' };
  ({ token } = z.object({ token: z.string() }).parse(await ask('v1/auths/signup', admin)));
  const made = z.object({ id: z.string() });
  const knowledge = made.parse(
    await ask('v1/knowledge/create', { name: 'Notes', description: 'What the keeper noted.' }),
  );
  for (const [name, text] of Object.entries(texts)) {
    const form = new FormData();
    form.set('file', new File([text], name, { type: 'text/plain' }));
    const { id } = made.parse(await ask('v1/files/?process_in_background=false', form));
    await ask(`v1/knowledge/${knowledge.id}/file/add`, { file_id: id });
  }
  const query = { collection_names: [knowledge.id], query: question };
  const { documents } = z
    .object({ documents: z.array(z.array(z.string())) })
    .parse(await ask('v1/retrieval/query/collection', query));
  const { choices } = z
    .object({ choices: z.array(z.object({ message: z.object({ content: z.string() }) })).length(1) })
    .parse(
      await ask('chat/completions', {
        model: chatModel,
        messages: [{ role: 'user', content: question }],
        files: [{ type: 'collection', id: knowledge.id }],
        stream: false,
      }),
    );
  const found = { query: documents.flat().join(), chat: choices[0]?.message.content };
  return Object.entries(found).flatMap(([way, text]) =>
    text === expected ? [] : [`${way} found "${text}"`],
  );
}

/** Calls that did not end well or lost something on the way, and models that were not called. */
function listCallFaults(since: number, models: readonly string[]): string[] {
  const called = new Set<string>();
  const faults: string[] = [];
  for (const end of gateway.ends.slice(since)) {
    if (end.type !== 'answered' || end.outcome !== 'completed')
      faults.push(`${end.type} ${'error' in end ? end.error?.message : ''}`);
    else if (end.losses.length > 0) faults.push(`lost ${end.losses.map(({ path }) => path).join()}`);
    else if (end.charge.basis === 'usage') called.add(end.exchange.attempt.target.model.id);
  }
  return [...faults, ...models.filter((model) => !called.has(model)).map((model) => `no call of ${model}`)];
}

// The demo's vectors know no words, so it ranks, too.
const alone = { ENABLE_RAG_HYBRID_SEARCH: 'false' };
const cases = [
  [{}, ['demo/embed', 'demo/rank']],
  [{ ...alone, RAG_EMBEDDING_MODEL: 'house/same' }, ['house/same']],
  [{ ...purposes, ...alone, RAG_EMBEDDING_MODEL: 'house/other' }, ['house/other']],
] as const;

let held = 0;
for (const [changes, models] of cases) {
  const since = gateway.ends.length;
  const webui = await startWebui(changes);
  const faults = await index(webui.url).catch((error: unknown) => [
    `${String(error)}\n${webui.printed().slice(-3000)}`,
  ]);
  await webui.stop();
  const all = [...faults, ...listCallFaults(since, [...models, chatModel])];
  if (all.length === 0) held += 1;
  process.stdout.write(`${models.join(', ')}: ${all.join('; ') || 'well'}\n`);
}
await close();
await vendor.close();
removeFolders();
packages.finish(held, cases.length);
