/**
 * A gateway that runs for half an hour (`SOAK_MINUTES` sets how long) under everything that happens to one:
 * JSON and streams of every protocol, translated calls, clients that disconnect, providers that fail,
 * refusals, and configuration reloads.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { askable, megabyte, readMemory, openHeap, computeSlope } from '../support/memory-of.ts';
import { modelOf, openOperated, buildStreamedCall, wires, type Operated } from '../support/operated.ts';
import type { RunningGateway } from '../support/process.ts';

let operated: Operated;
beforeAll(async () => {
  operated = await openOperated();
  await operated.verb('credit', 'add', 'default', '100000');
});

const minute = 60_000;
const minutes = Number(process.env.SOAK_MINUTES ?? 30);
/**
 * The number of calls a gateway remembers by their ids: so many have to be made before its memory is full.
 */
const remembered = 10_000;
/** Milliseconds between two calls: a faster rate would measure the machine. */
const pause = 80;

const chat = '/v1/chat/completions';
const asking = { messages: [{ role: 'user', content: 'Hello there, who is it?' }] };

/** A call, and its expected end. */
type Act = (gateway: RunningGateway) => Promise<boolean>;

const whole = /\[DONE\]|message_stop|"finishReason"/;

const askJson: Act = async (gateway) => {
  const response = await operated.post(gateway, chat, { model: modelOf['chat-completions'], ...asking });
  return response.status === 200 && (await response.text()).includes('chat.completion');
};

const streams = wires.map(
  (wire): Act =>
    async (gateway) =>
      whole.test(await (await operated.stream(gateway, wire)).text()),
);

/** Each protocol with a model of the next one's provider. */
const translated = wires.map((wire, index): Act => async (gateway) => {
  const { path, body } = buildStreamedCall(wire);
  const other = modelOf[wires[(index + 2) % wires.length] ?? wire];
  const stream = await operated.post(
    gateway,
    path.replace(modelOf['generate-content'], other),
    'model' in body ? { ...body, model: other } : body,
  );
  return stream.status === 200 && whole.test(await stream.text());
});

const disconnect: Act = async (gateway) => {
  const leave = new AbortController();
  const stream = await operated.post(
    gateway,
    chat,
    { model: 'openai/gpt-4o', ...asking, stream: true },
    leave.signal,
  );
  await stream.body?.getReader().read();
  leave.abort();
  return stream.status === 200;
};

const askBroken: Act = async (gateway) => {
  const stream = await operated.post(gateway, chat, { model: 'openai/gpt-5', ...asking, stream: true });
  return !whole.test(await stream.text());
};

const askRefused =
  (status: number, path: string, body: object): Act =>
  async (gateway) => {
    const response = await operated.post(gateway, path, body);
    await response.text();
    return response.status === status;
  };

const askAsStranger: Act = async ({ url }) => {
  const response = await fetch(url + chat, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-unknown', 'content-type': 'application/json' },
    body: '{}',
  });
  await response.text();
  return response.status === 401;
};

const scrapeMetrics: Act = async ({ url }) =>
  (await (await fetch(`${url}/metrics`)).text()).includes('tollgate_');

const acts: readonly Act[] = [
  askJson,
  ...streams,
  disconnect,
  ...translated,
  askBroken,
  askJson,
  askRefused(404, chat, { model: 'unknown/nothing', ...asking }),
  askRefused(400, chat, { model: modelOf['chat-completions'], messages: 'none' }),
  askAsStranger,
  scrapeMetrics,
];

describe(`a gateway that runs for ${minutes} minutes`, () => {
  it(
    'grows by less than 1 MB in ten of them',
    async () => {
      const { openai } = operated.vendors;
      openai.script('gpt-4o', { text: Array.from({ length: 50 }, () => 'word '), delayEvents: 20 });
      openai.script('gpt-5', { text: ['one ', 'two '], cut: { how: 'rst', events: 2 } });
      const gateway = await operated.start(askable);
      const heap = await openHeap(gateway);
      const wrong: number[] = [];
      const runAct = async (turn: number): Promise<void> => {
        const which = turn % acts.length;
        if (!(await acts[which]?.(gateway).catch(() => false))) wrong.push(which);
      };
      let reloads = 0;
      const reload = (): void => {
        reloads += 1;
        operated.configure(`drain: ${30 + (reloads % 2)}`);
        gateway.child.kill('SIGHUP');
      };
      // Up to three acts make no call that is remembered.
      for (let round = 0; round * (acts.length - 3) < remembered; round += 1) {
        await Promise.all(acts.map((_, turn) => runAct(turn)));
        // As often as in all that follows: otherwise code that runs once a minute would still be compiled
        // later.
        if (round % 20 === 0) reload();
      }
      const samples: { readonly at: number; readonly heap: number; readonly memory: number }[] = [];
      const began = performance.now();
      const computeElapsed = (): number => performance.now() - began;
      for (let turn = 0, sampled = 0, lastReload = 0; computeElapsed() < minutes * minute; turn += 1) {
        await sleep(pause);
        await runAct(turn);
        if (computeElapsed() - lastReload > minute) {
          lastReload = computeElapsed();
          reload();
        }
        if (computeElapsed() < sampled * 10_000) continue;
        sampled += 1;
        samples.push({
          at: computeElapsed() / (10 * minute),
          heap: await heap.left(),
          memory: readMemory(gateway),
        });
      }
      heap.close();
      // What it allocates and compiles at its first calls comes before.
      const steady = samples.slice(Math.ceil(samples.length / 3));
      const slopes = {
        heap: computeSlope(steady.map(({ at, heap: value }) => ({ at, value }))) / megabyte,
        memory: computeSlope(steady.map(({ at, memory: value }) => ({ at, value }))) / megabyte,
      };
      const shown = steady
        .filter((_, index) => index % Math.ceil(steady.length / 12) === 0)
        .map((sample) => `${(sample.heap / megabyte).toFixed(1)}/${(sample.memory / megabyte).toFixed(0)}`);
      process.stdout.write(
        `MB in ten minutes: heap ${slopes.heap.toFixed(2)}, process ${slopes.memory.toFixed(2)}; ` +
          `heap/process over time: ${shown.join(' ')}\n`,
      );
      expect(wrong).toEqual([]);
      expect(slopes.heap).toBeLessThan(1);
      expect(slopes.memory).toBeLessThan(1);
      expect((await gateway.stop('SIGTERM')).code).toBe(0);
      expect(await operated.verb('audit')).toMatchObject({ ok: true, pending: 0 });
    },
    (minutes + 10) * minute,
  );
});
