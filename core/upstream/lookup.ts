/**
 * Looks up the addresses of providers. Node looks up two names at a time, and a name server that does not
 * answer holds one of the two up for about ten seconds. Two such names would hold up new connections to all
 * providers. Node's own client for name servers has no such limit, but it does not read the hosts file and
 * other sources of the system, whose names operators use.
 */
import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Callback = Parameters<LookupFunction>[2];

/** Milliseconds that a lookup may take before the last answer is used, and how old that answer may be. */
const patience = 500;
const longestUse = 60 * 60 * 1000;

/**
 * Returns a lookup that all connections share which wait for the same name. If it takes long, they get its
 * last answer. Only a name that has none waits for those before it.
 */
export function shareLookups(look: LookupFunction = lookup): LookupFunction {
  const waiting = new Map<string, Callback[]>();
  const lastAnswers = new Map<string, { readonly answer: Parameters<Callback>; readonly at: number }>();
  return (hostname, options, callback) => {
    const question = JSON.stringify([hostname, options]);
    const last = lastAnswers.get(question);
    const isUsable = last && performance.now() - last.at < longestUse;
    const timer = isUsable ? setTimeout(() => answer(...last.answer), patience).unref() : undefined;
    let isAnswered = false;
    const answer: Callback = (...found) => {
      clearTimeout(timer);
      if (!isAnswered) callback(...found);
      isAnswered = true;
    };
    const others = waiting.get(question);
    if (others) return void others.push(answer);
    const all = [answer];
    waiting.set(question, all);
    look(hostname, options, (...found) => {
      const [error] = found;
      waiting.delete(question);
      if (!error) lastAnswers.set(question, { answer: found, at: performance.now() });
      for (const each of all) each(...found);
    });
  };
}
