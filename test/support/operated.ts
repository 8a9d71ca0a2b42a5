/**
 * A gateway as operators run it: a process with a configuration file that can be rewritten, in front of the
 * strict vendors.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueKey } from '../../plugins/meters/balance/keys.ts';
import { openSqlite } from '../../plugins/meters/balance/sqlite/open.ts';
import type { Store } from '../../plugins/meters/balance/store.ts';
import { makeDataFolder, runVerb, startProcess, type RunningGateway } from './process.ts';
import { wires, type Wire } from './replaying-vendor.ts';
import { startVendors, type Vendors } from './vendor/index.ts';

/** A model that speaks the client's own protocol. */
export const modelOf: Readonly<Record<Wire, string>> = {
  'chat-completions': 'openai/gpt-4o-mini',
  responses: 'openai/gpt-4o-mini',
  messages: 'anthropic/claude-sonnet-4-5',
  'generate-content': 'google/gemini-2.5-flash',
};

const question = 'Hello there, who is it?';
const turns = [{ role: 'user', content: question }];

/** The body of a short call of chat completions. */
export const hello = { model: modelOf['chat-completions'], messages: turns };

/** A body that asks for a stream, in each protocol's format, and its path. */
export function buildStreamedCall(wire: Wire): { readonly path: string; readonly body: object } {
  const model = modelOf[wire];
  if (wire === 'chat-completions')
    return { path: '/v1/chat/completions', body: { model, messages: turns, stream: true } };
  if (wire === 'responses') return { path: '/v1/responses', body: { model, input: question, stream: true } };
  if (wire === 'messages')
    return { path: '/alpha/v1/messages', body: { model, max_tokens: 100, messages: turns, stream: true } };
  return {
    path: `/beta/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    body: { contents: [{ role: 'user', parts: [{ text: question }] }] },
  };
}

export interface Operated {
  readonly vendors: Vendors;
  readonly folder: string;
  /** A key with 5 USD. */
  readonly key: string;
  /** Writes the configuration; `server` and `plugins` are source text to add. */
  configure(server?: string, plugins?: string): void;
  start(environment?: Readonly<Record<string, string>>): Promise<RunningGateway>;
  post(gateway: RunningGateway, path: string, body: object, signal?: AbortSignal): Promise<Response>;
  /** Opens a stream of each protocol in turn. */
  stream(gateway: RunningGateway, wire?: Wire, signal?: AbortSignal): Promise<Response>;
  /** Audits the ledger, which takes a command of the command line ten times as long. */
  audit(): ReturnType<Store['audit']>;
  /** Runs a command of the command line beside it; returns its JSON. */
  verb(...words: string[]): Promise<unknown>;
  /** All vendors' streams wait after two events until a test releases them. */
  hold(): () => void;
  /** What must hold after each test: nothing runs, and the vendors are reset. */
  reset(): Promise<void>;
}

/**
 * Waits until it holds, with two minutes of pauses at most. They grow, because asking takes processor time
 * from what shall make it true.
 */
export async function waitUntil(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let paused = 0; !(await isSo());) {
    if (paused > 120_000) throw new Error('it never came true');
    const pause = Math.min(10 + paused / 10, 200);
    await sleep(pause);
    paused += pause;
  }
}

function buildConfiguration(folder: string, server: string, plugins: string): string {
  return `
    import { defineConfig } from 'tollgate';
    import { defineProvider } from 'tollgate/kit';
    import { apiKeyHeader } from 'tollgate/plugins/auth/api-key-header';
    import { bearer } from 'tollgate/plugins/auth/bearer';
    import { googleApiKey } from 'tollgate/plugins/auth/google-api-key';
    import { balance } from 'tollgate/plugins/meters/balance';
    import { callLog } from 'tollgate/plugins/operations/call-log';
    import { calls } from 'tollgate/plugins/operations/calls';
    import { prometheus } from 'tollgate/plugins/operations/prometheus';
    import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
    import { generateContent } from 'tollgate/plugins/protocols/generate-content';
    import { messages } from 'tollgate/plugins/protocols/messages';
    import { responses } from 'tollgate/plugins/protocols/responses';
    import { anthropic } from 'tollgate/plugins/providers/anthropic';
    import { demo } from 'tollgate/plugins/providers/demo';
    import { google } from 'tollgate/plugins/providers/google';
    import { openai } from 'tollgate/plugins/providers/openai';
    export default defineConfig({
      server: { port: Number(process.env.PORT), ${server} },
      dataFolder: ${JSON.stringify(folder)},
      plugins: [
        bearer(), apiKeyHeader(), googleApiKey(),
        chatCompletions(), responses(), messages(), generateContent(),
        openai(), anthropic(), google(), balance(), prometheus(), callLog(), calls(), ${plugins}
      ],
    });
  `;
}

export async function openOperated(): Promise<Operated> {
  const folder = makeDataFolder();
  const file = join(folder, 'gateway.config.ts');
  const vendors = await startVendors();
  const running = new Set<RunningGateway>();
  const killAll = async (): Promise<void> => {
    for (const gateway of running)
      if (gateway.child.exitCode === null && gateway.child.signalCode === null) await gateway.stop('SIGKILL');
    running.clear();
  };
  const configure = (server = '', plugins = ''): void =>
    writeFileSync(file, buildConfiguration(folder, server, plugins));

  async function verb(...words: string[]): Promise<unknown> {
    const { output, errors } = await runVerb([...words, '--json'], { TOLLGATE_CONFIG: file, PORT: '0' });
    try {
      return JSON.parse(output);
    } catch {
      throw new Error(`${words.join(' ')}: ${errors}`);
    }
  }

  async function withLedger<Result>(work: (store: Store) => Promise<Result>): Promise<Result> {
    const store = await openSqlite({ file: join(folder, 'ledger.db') });
    return work(store).finally(() => store.close());
  }

  configure();
  const key = await withLedger(async (store) => {
    const account = 'default';
    await store.createAccount({ name: account, at: 1 });
    await store.addCredit({ account, amount: 5_000_000_000n, kind: 'bonus', reference: undefined, at: 1 });
    return (await issueKey(store, { name: '', account }))?.secret ?? '';
  });

  function post(
    { url }: RunningGateway,
    path: string,
    body: object,
    signal?: AbortSignal,
  ): Promise<Response> {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
    };
    return fetch(url + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    });
  }

  return {
    vendors,
    folder,
    key,
    configure,
    audit: () => withLedger((store) => store.audit()),
    verb,
    post,
    async start(environment = {}) {
      const { openai, anthropic, google } = vendors;
      const gateway = await startProcess({
        TOLLGATE_CONFIG: file,
        OPENAI_API_KEY: openai.key,
        OPENAI_BASE_URL: openai.url,
        ANTHROPIC_API_KEY: anthropic.key,
        ANTHROPIC_BASE_URL: anthropic.url,
        GEMINI_API_KEY: google.key,
        GOOGLE_GEMINI_BASE_URL: google.url,
        ...environment,
      });
      running.add(gateway);
      return gateway;
    },
    stream(gateway, wire = 'chat-completions', signal) {
      const { path, body } = buildStreamedCall(wire);
      return post(gateway, path, body, signal);
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      vendors.script('*', { text: ['one ', 'two ', 'three ', 'four ', 'five'], hold: promise, holdAfter: 4 });
      return resolve;
    },
    async reset() {
      vendors.unscript();
      await killAll();
      configure();
    },
  };
}

export { wires, type Wire };
