/** The guard, in a gateway with the demo model, which repeats what it gets. */
import { bearer } from 'tollgate/plugins/auth/bearer';
import { balance } from 'tollgate/plugins/meters/balance';
import { chatCompletions } from 'tollgate/plugins/protocols/chat-completions';
import { demo } from 'tollgate/plugins/providers/demo';
import { startGateway } from 'tollgate/testing';
import { expect, it } from 'vitest';
import { myPlugin } from '../source/index.ts';

async function call(words: string[], content: string): Promise<Response> {
  const plugins = [bearer(), chatCompletions(), demo({ pace: 0 }), myPlugin({ words }), balance()];
  const gateway = await startGateway({ plugins });
  const key = await gateway.newKey({ credit: '1' });
  const reply = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo/echo', messages: [{ role: 'user', content }] }),
  });
  const text = await reply.text();
  await gateway.close();
  return new Response(text, { status: reply.status });
}

it('a reply that holds a word of the list is stopped', async () => {
  const reply = await call(['hunter2'], 'My password is hunter2.');
  expect([reply.status, await reply.text()]).toEqual([400, expect.stringContaining('may not leave here')]);
});

it('other replies pass', async () => {
  for (const words of [['hunter2'], []]) expect((await call(words, 'Hello!')).status).toBe(200);
});

it('an unknown option is refused by its name', () => {
  expect(() => myPlugin(JSON.parse('{"word":["hunter2"]}'))).toThrow('word');
});
