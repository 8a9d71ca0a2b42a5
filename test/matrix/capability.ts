/**
 * A capability: what a client of each protocol asks for, how the vendor of each wire is asked for it, what
 * the vendor does, and how each client is shown it. A protocol that is not named has no word for it.
 */
import type { Kind, FourWires } from '../support/four-wires.ts';
import { isObject, type Json } from '../support/json.ts';
import type { Wire } from '../support/replaying-vendor.ts';
import type { Scenario } from '../support/vendor/scenario.ts';

export type Check = (body: Json) => boolean;
export type ByWire<Value> = Readonly<Partial<Record<Wire, Value>>>;

export interface Capability {
  readonly name: string;
  /** Which of a wire's models is asked; the plain one unless said. */
  readonly model?: Kind | ((wire: Wire) => Kind);
  /** What is added to the least a call needs, by the client's protocol. */
  readonly ask: ByWire<object>;
  /** What a client sends when it continues after a reply, if the capability takes two turns to see. */
  readonly follow?: ByWire<(reply: Json) => object>;
  /** How the vendor's request says it, by the vendor's wire; left out where nothing but the reply matters. */
  readonly got?: ByWire<Check>;
  /** Whether losses elsewhere in the request are beside the point. */
  readonly regardless?: boolean;
  /** What passes for it on a wire without a word for it. */
  readonly instead?: ByWire<Check>;
  /** What the vendor of a wire does; one that cannot do it is not named. */
  readonly does?: ByWire<Scenario>;
  /** How a client is shown it. */
  readonly shown?: ByWire<Check>;
  /** What passes for it at a client without a word for it. */
  readonly shownInstead?: ByWire<Check>;
  /** Whether a client and a wire can mean the same by it at all; always unless given. */
  possible?(client: Wire, wire: Wire): boolean;
  /** Judges what no comparison of bodies shows. */
  judge?(
    harness: FourWires,
    client: Wire,
    wire: Wire,
  ): Promise<'works' | 'approximated' | 'lost' | 'refused'>;
}

function matches(value: unknown, pattern: unknown): boolean {
  if (pattern instanceof RegExp) return typeof value === 'string' && pattern.test(value);
  if (Array.isArray(pattern))
    return (
      Array.isArray(value) &&
      value.length === pattern.length &&
      pattern.every((each, index) => matches(value[index], each))
    );
  if (isObject(pattern))
    return isObject(value) && Object.entries(pattern).every(([name, each]) => matches(value[name], each));
  return Object.is(value, pattern);
}

function hasWithin(value: unknown, found: (value: unknown) => boolean): boolean {
  if (found(value)) return true;
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).some((inner) => hasWithin(inner, found))
  );
}

/**
 * Somewhere in the body is an object with these members: texts by what they are or match, lists by all their
 * members.
 */
export function holds(pattern: object): Check {
  return (body) => hasWithin(body, (value) => matches(value, pattern));
}

/** The body itself has these members. */
export function has(pattern: object): Check {
  return (body) => matches(body, pattern);
}

/** Somewhere in the body is this text, or one that matches. */
export function mentions(pattern: string | RegExp): Check {
  return (body) =>
    hasWithin(
      body,
      (value) =>
        typeof value === 'string' &&
        (typeof pattern === 'string' ? value.includes(pattern) : pattern.test(value)),
    );
}

export function meetsAll(...checks: readonly Check[]): Check {
  return (body) => checks.every((check) => check(body));
}

export function meetsAny(...checks: readonly Check[]): Check {
  return (body) => checks.some((check) => check(body));
}

/** The same on every wire. */
export function fillWires<Value>(value: Value): Record<Wire, Value> {
  return { 'chat-completions': value, responses: value, messages: value, 'generate-content': value };
}
