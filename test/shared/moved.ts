/** Conversations that a client moves between providers: whether they go verbatim, and what is sent. */
import { families, readCall, sendOwn, type Wire } from '../support/families.ts';

export function suits(wire: Wire, body: object, model = families[wire].model): boolean {
  const call = readCall(wire, body);
  return !call.carriesState && (call.suits?.(model) ?? true);
}

export function encodeBody(wire: Wire, body: object, model = families[wire].model): string {
  return JSON.stringify(sendOwn(wire, body, { model }).body);
}

export const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
export const tools = [{ type: 'function', function: { name: 'look' } }];
