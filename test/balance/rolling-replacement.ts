/**
 * Two gateways on one ledger that are replaced one after the other, again and again, under clients that know
 * both, as a load balancer would do it: a new one is ready before an old one receives the stop signal, so
 * that old and new share the file.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { issueKey } from '../../plugins/meters/balance/keys.ts';
import { postJson } from '../support/post.ts';
import type { RunningGateway } from '../support/process.ts';
import { computeCost, expectSoundLedger, listEntries, model, openJournalled } from './journalled.ts';

interface RollingOptions {
  readonly restarts: number;
  /** Milliseconds from one replacement to the next. */
  readonly every: number;
  readonly lanes: number;
  draw(below: number): number;
}

/**
 * The text of a whole reply and the call's id, from the first gateway that accepts the call; or a text that
 * says why none did.
 */
async function ask(
  gateways: readonly RunningGateway[],
  key: string,
  marker: string,
  words: number,
): Promise<{ readonly id: string; readonly text: string }> {
  let message = '';
  for (const { url } of gateways) {
    try {
      const response = await postJson(
        `${url}/v1/chat/completions`,
        {
          model,
          stream: true,
          max_tokens: 500,
          messages: [{ role: 'user', content: `${marker} words ${words}` }],
        },
        { authorization: `Bearer ${key}` },
      );
      const text = await response.text();
      if (response.status === 200) return { id: response.headers.get('x-request-id') ?? '', text };
      message = `${response.status} ${text}`;
      // A gateway that stops says so: the client asks the next one.
      if (response.status !== 503) break;
    } catch (error) {
      message = String(error instanceof Error ? error.cause : error);
    }
  }
  return { id: '', text: message };
}

/** Returns how many calls ended with their last event. */
export async function runRolling({ restarts, every, lanes, draw }: RollingOptions): Promise<number> {
  const { start, store, journal, close } = await openJournalled({ lease: 3 });
  const key = (await issueKey(store, { name: 'rolling', account: 'a' }))?.secret ?? '';
  let gateways: readonly RunningGateway[] = await Promise.all([start(), start()]);
  /** How calls ended that were not completed, once each gateway had had its chance. */
  const failed: string[] = [];
  const done = new Map<string, string>();
  const over = new AbortController();
  const runLane = async (_: unknown, index: number): Promise<void> => {
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      const marker = `call-${index}-${turn}`;
      const order = (index + turn) % 2 === 0 ? gateways : gateways.toReversed();
      const { id, text } = await ask(order, key, marker, draw(60));
      if (text.includes('[DONE]')) done.set(id, marker);
      else failed.push(text.slice(-300));
    }
  };
  const calling = Array.from({ length: lanes }, runLane);
  try {
    for (let restart = 0; restart < restarts; restart += 1) {
      const fresh = await start();
      const [old, other] = gateways;
      gateways = other ? [other, fresh] : [fresh];
      await sleep(every / 2);
      expect((await old?.stop('SIGTERM'))?.code).toBe(0);
      await sleep(every / 2);
    }
    over.abort();
    await Promise.all(calling);
    for (const gateway of gateways) expect((await gateway.stop('SIGTERM')).code).toBe(0);
    expect(failed).toEqual([]);
    const entries = await listEntries(store);
    // What another process had to settle has a flag.
    expect(entries.filter(({ flags }) => flags.length > 0)).toEqual([]);
    const charged = new Map(
      entries.flatMap(({ kind, call = '', revenue }) => (kind === 'post' ? [[call, revenue]] : [])),
    );
    for (const [id, marker] of done)
      expect([marker, charged.get(id)]).toEqual([marker, computeCost(journal.get(marker)?.words ?? 0)]);
    await expectSoundLedger(store);
    return done.size;
  } finally {
    over.abort();
    await close();
  }
}
