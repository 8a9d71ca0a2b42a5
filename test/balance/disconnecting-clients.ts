/**
 * A gateway in front of a provider that streams slowly and records each call, for clients that disconnect
 * midway.
 */
import { join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { openai } from '../../plugins/providers/openai.ts';
import type { BookedEntry, Books } from '../contract/books.ts';
import { chunk, ending } from '../support/chat-stream.ts';
import { makeFolder } from '../support/folder.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startScriptedVendor, type ScriptedVendor } from '../support/scripted-vendor.ts';
import { readBooks } from './ledger-file.ts';

const model = 'openai/gpt-4.1-mini';
/** Words of a whole reply, five bytes each. */
export const words = 20;
export const lastWord = 'last ';
/** The usage that the provider reports at the end of a complete reply. */
const usage = { prompt_tokens: 30, completion_tokens: 40, total_tokens: 70 };

/** What the provider knows of a call. */
interface Sent {
  events: number;
  closed: boolean;
  finished: boolean;
}

/**
 * Streams its words, one every few milliseconds; without a pause the last of them arrives with the end of the
 * reply.
 */
async function startSlowVendor(pause: number): Promise<{ vendor: ScriptedVendor; calls: Sent[] }> {
  const calls: Sent[] = [];
  const vendor = await startScriptedVendor(async (response) => {
    const sent: Sent = { events: 0, closed: false, finished: false };
    calls.push(sent);
    response.on('close', () => (sent.closed = !response.writableFinished));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (; sent.events < words && !sent.closed; sent.events += 1) {
      const isLast = sent.events === words - 1;
      if (pause === 0 && isLast) response.cork();
      response.write(chunk({ content: isLast ? lastWord : 'word ' }));
      if (pause > 0 || !isLast) await sleep(pause);
    }
    if (sent.closed) return;
    response.write(chunk({}, 'stop'));
    response.end(ending(usage));
    sent.finished = true;
  });
  return { vendor, calls };
}

export type OnAbort = NonNullable<Parameters<typeof openai>[0]>['onAbort'];

export interface SlowStreams {
  readonly gateway: TestGateway;
  readonly calls: readonly Sent[];
  /**
   * A streamed call whose client disconnects after so many bytes at least, or after a text; undefined: it
   * reads to the end. Resolves with what had arrived.
   */
  call(leaveAfter: number | string | undefined): Promise<string>;
  /**
   * A call whose client disconnects while its provider is silent; the provider answers a moment later with
   * that status and body.
   */
  leaveUnanswered(status: number, body: string): Promise<void>;
  readLedger(): Books;
  /** Entries that end a reservation, or follow its end. */
  settled(): BookedEntry[];
  close(): Promise<void>;
}

export async function openSlowStreams(onAbort: OnAbort, pause = 3): Promise<SlowStreams> {
  const folder = makeFolder();
  const { vendor, calls } = await startSlowVendor(pause);
  const gateway = await startGateway({
    dataFolder: folder,
    plugins: [
      bearer(),
      chatCompletions(),
      openai({ apiKey: 'sk-vendor', baseUrl: vendor.origin, onAbort }),
      balance({ firstCredit: '0' }),
    ],
  });
  const key = await gateway.newKey({ account: 'a', credit: '1000' });
  const readLedger = (): Books => readBooks(join(folder, 'ledger.db'));
  const ask = (controller: AbortController): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: controller.signal,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        stream: true,
        messages: [{ role: 'user', content: 'Say twenty words.' }],
      }),
    });
  return {
    gateway,
    calls,
    readLedger,
    async leaveUnanswered(status, body) {
      const controller = new AbortController();
      vendor.conduct(async (response) => {
        controller.abort();
        await sleep(100);
        // A busy process may not have seen the disconnect yet. A turn of its event loop reads all sockets.
        for (const _ of [1, 2]) await setImmediate();
        response
          .writeHead(status, { 'content-type': status === 200 ? 'text/event-stream' : 'application/json' })
          .end(body);
      });
      await ask(controller).catch(() => undefined);
    },
    async call(leaveAfter) {
      const controller = new AbortController();
      let text = '';
      try {
        const response = await ask(controller);
        for await (const part of response.body ?? []) {
          text += Buffer.from(part).toString();
          if (
            typeof leaveAfter === 'string'
              ? text.includes(leaveAfter)
              : leaveAfter !== undefined && text.length >= leaveAfter
          )
            controller.abort();
        }
      } catch (error) {
        if (!controller.signal.aborted) throw error;
      }
      return text;
    },
    settled: () => readLedger().entries.filter(({ kind }) => kind !== 'credit' && kind !== 'reserve'),
    async close() {
      await gateway.close();
      await vendor.close();
    },
  };
}
