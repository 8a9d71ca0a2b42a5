/**
 * Reads the `provider` object of a form, whose fields are all text. Clients send the object as JSON, or its
 * fields in the names, as the official SDKs do: `provider[only][]=openai`,
 * `provider[max_price][request]=0.1`.
 */
import type { Form } from '../../../core/index.ts';
import { parseJson } from '../../shared/wire-kit/event-data.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { buildFieldError } from '../../shared/wire-kit/wire-check.ts';

const member = /^provider\[(\w+)\](?:\[(\w*)\])?$/;
/** Matches the index of a list item, which only some clients send. */
const item = /^\d*$/;
const switches: Readonly<Record<string, boolean>> = { true: true, false: false };

export function isProvider(name: string): boolean {
  return name === 'provider' || name.startsWith('provider[');
}

/** Returns undefined if the form has none. Throws `invalid_request` with the name of an unreadable field. */
export function readProvider(texts: Form['fields']): unknown {
  const own = texts.filter(([name]) => isProvider(name));
  const [first] = own;
  if (first?.[0] === 'provider' && own.length === 1) return readJson(first[1]);
  const members = new Map<string, unknown>();
  for (const [name, text] of own) {
    const [, outer, inner] = member.exec(name) ?? [];
    if (outer === undefined)
      throw buildFieldError(
        name,
        name === 'provider' ? 'is sent twice' : 'is not known here',
        'the object once, as JSON',
      );
    members.set(
      outer,
      inner === undefined
        ? readValue(name, text, members.has(outer))
        : addMember(members.get(outer), inner, text),
    );
  }
  return own.length === 0 ? undefined : Object.fromEntries(members);
}

/** Text that is not JSON stays text, which the schema refuses. */
function readJson(text: string): unknown {
  const value = parseJson(text);
  return value === undefined ? text : value;
}

function readValue(name: string, text: string, isRepeated: boolean): unknown {
  if (isRepeated) throw buildFieldError(name, 'is sent twice', 'it once');
  return Object.hasOwn(switches, text) ? switches[text] : text;
}

function addMember(before: unknown, inner: string, text: string): unknown {
  if (item.test(inner)) return [...(Array.isArray(before) ? before : []), text];
  return { ...(isObject(before) ? before : {}), [inner]: text };
}
