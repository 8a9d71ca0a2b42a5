/**
 * What is left of a call in the memory of the process, in the reports Node writes of a crash, and in its most
 * verbose log.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { openHeap } from '../support/memory-of.ts';
import { openOperated, buildStreamedCall, waitUntil, wires, type Operated } from '../support/operated.ts';

let operated: Operated;
beforeAll(async () => void (operated = await openOperated()));

const canary = {
  prompt: 'canary-of-the-prompt-7f3a',
  reply: 'canary-of-the-reply-9c1e',
  junk: 'sk-canary-of-a-wrong-key-4b2d',
};

it('keys, prompts and replies are never in a log or report, nor in the heap after their calls', async () => {
  const { vendors, folder, key } = operated;
  const reports = join(folder, 'reports');
  mkdirSync(reports);
  const reporting = '--report-on-signal --report-uncaught-exception';
  const gateway = await operated.start({
    TOLLGATE_LOG: 'trace',
    NODE_OPTIONS: `--inspect-port=0 ${reporting} --report-directory=${reports}`,
  });
  const send = async (path: string, body: object, authorization = `Bearer ${key}`): Promise<Response> =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization, 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(body).replace('Hello there, who is it?', canary.prompt),
    });
  const heap = await openHeap(gateway);
  for (const wire of wires) {
    const { path, body } = buildStreamedCall(wire);
    const whole = [
      path.replace('streamGenerateContent?alt=sse', 'generateContent'),
      { ...body, ...('stream' in body ? { stream: false } : {}) },
    ] as const;
    for (const scenario of [
      { text: canary.reply },
      { text: [canary.reply, 'x'], cut: { how: 'rst' as const, bytes: 150 } },
      { reply: { status: 500, body: canary.reply } },
    ]) {
      vendors.script('*', scenario);
      for (const [at, asked] of [[path, body], whole] as const)
        await (await send(at, asked)).text().catch(() => undefined);
      expect((await send(path, body, `Bearer ${canary.junk}`)).status).toBe(401);
      expect(
        (
          await send(`${path.replace(/models\/[^:]*/, 'models/openai/none')}`, {
            ...body,
            model: 'openai/none',
          })
        ).status,
      ).toBe(404);
    }
  }
  // While a call runs, a report may name its connection, but nothing of its content.
  const release = operated.hold();
  const { path, body } = buildStreamedCall('chat-completions');
  const running = await send(path, body);
  // The key is in memory during a call: the call has to be kept for another attempt.
  expect(await heap.snapshot()).toContain(canary.prompt);
  gateway.child.kill('SIGUSR2');
  await waitUntil(() => readdirSync(reports).length > 0);
  release();
  await running.text();
  vendors.script('*', { text: 'Nothing of note.' });
  // The next calls overwrite what the last ones left on a connection.
  for (let call = 0; call < 20; call += 1)
    await (await operated.stream(gateway, wires[call % wires.length])).text();
  const written = {
    heap: await heap.snapshot(),
    report: readdirSync(reports)
      .map((name) => readFileSync(join(reports, name), 'utf8'))
      .join('\n'),
    log: gateway.printed(),
  };
  heap.close();
  expect(written.heap).toContain('"snapshot"');
  expect(written.report).toContain('javascriptHeap');
  expect(written.log).toContain('"msg":"call"');
  // The gateway's own credentials have to be in memory.
  const own = { openai: vendors.openai.key, anthropic: vendors.anthropic.key, google: vendors.google.key };
  const found = Object.entries(written).flatMap(([place, text]) =>
    Object.entries({ ...canary, key, ...(place === 'heap' ? {} : own) })
      .filter(([, secret]) => text.includes(secret))
      .map(([name]) => `${name} in the ${place}`),
  );
  expect(found).toEqual([]);
  expect((await gateway.stop('SIGTERM')).code).toBe(0);
});
