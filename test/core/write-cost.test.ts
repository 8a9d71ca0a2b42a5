import { expect, it } from 'vitest';
import { writeCost } from '../../core/crossing/charged-usage.ts';
import type { Routed } from '../../core/index.ts';

type Asked = Parameters<typeof writeCost>[2];

function buildExchange(framing: 'events' | 'array', event: readonly [string, ...string[]]): Asked {
  const call = { stream: true, framing } as Partial<Routed['call']>;
  const protocol = { client: { usagePath: { reply: ['usage'], event } } };
  return { call, protocol } as unknown as Asked;
}

it('the cost of a call changes the last event with usage, and no other byte', () => {
  const decoy = 'data: {"text":"\\"usage\\":{}","usage":null}\r\n\r\n';
  const first = 'data: {"usage":{"total":1}}\r\n\r\n';
  const writeLastEvent = (cost: string): string =>
    `event: x\r\nid: 7\r\ndata: {"a":"ü","usage":{${cost}"total":2.0}}\r\n\r\n`;
  const tail = ': bye\r\n\r\ndata: [DONE]\r\n\r\n';
  const written = writeCost(
    decoy + first + writeLastEvent('') + tail,
    1_230_000_001n,
    buildExchange('events', ['usage']),
  );
  expect(written).toBe(decoy + first + writeLastEvent('"cost":1.230000001,') + tail);
});

it('the cost of a call is written into usage of several lines, or inside another object', () => {
  const text = 'event: done\ndata: {"response":\ndata: {"usage":{"total":1}}}\n\n';
  expect(writeCost(text, 5n, buildExchange('events', ['response', 'usage']))).toBe(
    'event: done\ndata: {"response":{"usage":{"cost":0.000000005,"total":1}}}\n\n',
  );
});

it('the cost of a call adds no event where none has usage', () => {
  const text = 'data: {"choices":[]}\n\ndata: [DONE]\n\n';
  expect(writeCost(text, 5n, buildExchange('events', ['usage']))).toBe(text);
  expect(writeCost(',\r\n{"a":1}]', 5n, buildExchange('array', ['usage']))).toBe(',\r\n{"a":1}]');
  expect(writeCost(']', 5n, buildExchange('array', ['usage']))).toBe(']');
});

it('the cost of a call changes the last element with usage, whatever text looks like one', () => {
  const before = '[{"text":"},\\r\\n{\\"usage\\":{}}]","usage":{"n":1}},\r\n';
  expect(writeCost(`${before}{"usage":{"n":2}},\r\n{"a":[]}]`, 5n, buildExchange('array', ['usage']))).toBe(
    `${before}{"usage":{"cost":0.000000005,"n":2}},\r\n{"a":[]}]`,
  );
});
