/** Clients that leave: at once the vendor is let go of, or read on for its figures where its provider says so; each call is settled once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { ProviderOptions } from '../../core/provider.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { expectSound } from '../contract/books.ts';
import { readBooks, temporaryFolder } from '../balance/ledger-file.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { join } from 'node:path';

const model = 'openai/gpt-4.1-mini';
const words = 20;
/** What the vendor says it has used, at the end of a whole reply. */
const usage = { prompt_tokens: 30, completion_tokens: 40, total_tokens: 70 };

interface Sent {
  events: number;
  closed: boolean;
  finished: boolean;
}

function chunk(delta: object, more: object = {}): string {
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;
}

/** A vendor that streams so many words, one each few milliseconds, and keeps a record of each call. */
async function slowVendor(pause: number): Promise<{ vendor: ScriptedVendor; calls: Sent[] }> {
  const calls: Sent[] = [];
  const vendor = await startScriptedVendor(async (response) => {
    const sent: Sent = { events: 0, closed: false, finished: false };
    calls.push(sent);
    response.on('close', () => (sent.closed = !response.writableFinished));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (; sent.events < words && !sent.closed; sent.events += 1) {
      response.write(chunk({ content: 'word ' }));
      await sleep(pause);
    }
    if (sent.closed) return;
    response.write(chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
    response.end(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage })}\n\ndata: [DONE]\n\n`);
    sent.finished = true;
  });
  return { vendor, calls };
}

let folder: ReturnType<typeof temporaryFolder>;
let gateway: TestGateway;
let vendor: ScriptedVendor;
let calls: Sent[];
let key: string;

async function open(onAbort: ProviderOptions['onAbort'], pause = 3): Promise<void> {
  folder = temporaryFolder();
  ({ vendor, calls } = await slowVendor(pause));
  gateway = await startGateway({
    dataFolder: folder.path,
    plugins: [bearer(), chatCompletions(), openai({ apiKey: 'sk-vendor', baseUrl: vendor.origin, onAbort }), balance({ firstCredit: '0' })],
  });
  const made = await gateway.verb('keys create', [], { account: 'a', credit: '100' });
  key = typeof made === 'object' && made && 'key' in made ? String(made.key) : '';
}

afterEach(async () => {
  await gateway.close();
  await vendor.close();
  folder.remove();
});

/** A streamed call that is left after so many bytes at least; undefined: it is read to its end. */
async function call(leaveAfter: number | undefined): Promise<{ bytes: number }> {
  const leaving = new AbortController();
  let bytes = 0;
  try {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST', signal: leaving.signal,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Say twenty words.' }] }),
    });
    for await (const part of response.body ?? []) {
      bytes += part.length;
      if (leaveAfter !== undefined && bytes >= leaveAfter) leaving.abort();
    }
  } catch (error) {
    if (!leaving.signal.aborted) throw error;
  }
  return { bytes };
}

const posts = () => readBooks(join(folder.path, 'ledger.db')).entries.filter(({ kind }) => kind !== 'credit' && kind !== 'reserve');

describe('a vendor that is cancelled', () => {
  it('is closed at once, and every call is settled once, by what it had used', async () => {
    await open('cancel');
    const count = 60;
    await Promise.all(Array.from({ length: count }, (_, index) => call((index * 97) % 3000)));
    const ends = await gateway.ended(count);
    for (const sent of calls) await expect.poll(() => sent.closed || sent.finished, { timeout: 10_000 }).toBe(true);
    expect(calls.filter(({ closed }) => closed).length).toBeGreaterThan(count / 2);
    expect(posts()).toHaveLength(count);
    expect(new Set(posts().map(({ call: id }) => id)).size).toBe(count);
    for (const end of ends) {
      if (end.type !== 'answered' || end.outcome !== 'aborted') continue;
      expect(end.charge).toMatchObject({ basis: 'estimate', suspect: false });
      expect(end.charge.usage.output).toBeLessThanOrEqual(Math.ceil((words * 5) / 4));
    }
    expectSound(readBooks(join(folder.path, 'ledger.db')));
    expect(await gateway.verb('audit')).toMatchObject({ ok: true, pending: 0, findings: [] });
  });
});

describe('a vendor that is read on', () => {
  it('has its own figures charged, though the client left in the middle', async () => {
    await open('drain');
    await call(200);
    const [end] = await gateway.ended(1);
    expect(calls).toEqual([{ events: words, closed: false, finished: true }]);
    expect(end).toMatchObject({ type: 'answered', outcome: 'aborted', charge: { basis: 'usage', usage: { input: 30, output: 40 } } });
    expect(posts()).toMatchObject([{ kind: 'post', reason: 'aborted' }]);
  });

  it('is let go of after its time, and charged by what had come', async () => {
    await open({ drain: { seconds: 0.2, bytes: 1e6, atOnce: 20 } }, 100);
    await call(200);
    const [end] = await gateway.ended(1);
    expect(end).toMatchObject({ type: 'answered', outcome: 'aborted', charge: { basis: 'estimate' } });
    await expect.poll(() => calls[0]?.closed, { timeout: 10_000 }).toBe(true);
    expect(calls[0]?.events).toBeLessThan(words);
  });

  it('is let go of after so many bytes', async () => {
    await open({ drain: { seconds: 60, bytes: 300, atOnce: 20 } });
    await call(200);
    expect(await gateway.ended(1)).toMatchObject([{ outcome: 'aborted', charge: { basis: 'estimate' } }]);
    await expect.poll(() => calls[0]?.closed, { timeout: 10_000 }).toBe(true);
  });

  it('is one of a few at once: the rest are cancelled', async () => {
    await open({ drain: { seconds: 60, bytes: 1e6, atOnce: 3 } }, 30);
    await Promise.all(Array.from({ length: 12 }, () => call(200)));
    const ends = await gateway.ended(12);
    const drained = ends.filter((end) => end.type === 'answered' && end.charge.basis === 'usage');
    expect(drained.length).toBeGreaterThan(0);
    expect(drained.length).toBeLessThanOrEqual(3);
    expect(calls.filter(({ finished }) => finished)).toHaveLength(drained.length);
    expect(await gateway.verb('audit')).toMatchObject({ ok: true, pending: 0 });
  });

  it('makes no difference to a call that its client has had whole', async () => {
    await open('drain');
    await call(undefined);
    expect(await gateway.ended(1)).toMatchObject([{ outcome: 'completed', charge: { basis: 'usage' } }]);
  });
});
