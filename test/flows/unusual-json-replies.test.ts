/** JSON replies of providers that JavaScript does not read as they were meant. */
import { expect, it } from 'vitest';
import { openOneReply } from '../support/one-reply.ts';
import { wires } from '../support/replaying-vendor.ts';
import { chatReply, messagesReply } from '../support/replies.ts';

it('a JSON reply is read with a byte order mark, which no client receives', async () => {
  const house = await openOneReply('chat-completions');
  for (const client of wires) {
    const { status, text } = await house.ask(client, `\ufeff${JSON.stringify(chatReply('Héllo'))}`);
    expect([status, JSON.parse(text)], client).toEqual([200, expect.anything()]);
    expect(text, client).toContain('Héllo');
  }
});

it("a JSON reply keeps the digits of numbers in a tool's input, streamed or not", async () => {
  const house = await openOneReply('messages');
  const input = '{"user":1234567890123456789,"share":1.0}';
  const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: 'INPUT' };
  const reply = JSON.stringify(messagesReply('', { content: [call], stop_reason: 'tool_use' }));
  for (const client of wires) {
    for (const stream of client === 'messages' ? [false] : [false, true]) {
      const { text } = await house.ask(client, reply.replace('"INPUT"', input), { stream });
      expect(text.replaceAll('\\"', '"'), `${client}, streamed: ${stream}`).toContain(input);
    }
  }
});
