/**
 * Looks up the addresses of providers. Node looks up two names at a time. Without sharing, two calls to a
 * provider whose name server does not answer would hold up new connections to all others.
 */
import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

/** Returns a lookup that all connections share which wait for the same name. */
export function shareLookups(look: LookupFunction = lookup): LookupFunction {
  const waiting = new Map<string, Parameters<LookupFunction>[2][]>();
  return (hostname, options, callback) => {
    const question = JSON.stringify([hostname, options]);
    const others = waiting.get(question);
    if (others) return void others.push(callback);
    const all = [callback];
    waiting.set(question, all);
    look(hostname, options, (...answer) => {
      waiting.delete(question);
      for (const each of all) each(...answer);
    });
  };
}
