/**
 * What a target's wire cannot say is never dropped in silence: an encoder lists each loss by the path of the
 * client's own field, and the lane tells the caller, or refuses the call where the caller or the operator asks.
 */
import type { CanonicalRequest } from './canonical/request.ts';
import { GatewayError, isGatewayError } from './errors.ts';

/** What became of a thing that could not be said as it was: a closed set, since metrics count by it. */
export const lossCodes = [
  /** The target's protocol has no place for it. */
  'unsupported',
  /** The protocol has, but this model does not take it. */
  'model',
  /** It was said in another way, or only in part. */
  'approximated',
  /** Only the vendor that the client had in mind knows it. */
  'vendor',
  /** It is sealed for another vendor. */
  'state',
  /** It was left out so that the rest fits into the model. */
  'truncated',
  /** It is a part of the reply that the client's protocol has no place for. */
  'reply',
] as const;

export type LossCode = (typeof lossCodes)[number];

export interface Loss {
  /** The field that is lost, as the client wrote it: `tools[2].strict`; of a reply, the kind of thing: `reply.audio`. */
  readonly path: string;
  /** Why, in a few words fit for a caller. */
  readonly reason: string;
  readonly code: LossCode;
}

const headerBudget = 2048;

/** The most losses that are listed for one request. Nobody reads more, and each costs a place in memory and the log. */
const mostLosses = 1000;

/** The losses by their first thousand paths, each once, and one more that says how many others there are. */
export function boundLosses(losses: readonly Loss[]): readonly Loss[] {
  if (losses.length <= 1) return losses;
  const paths = new Set<string>();
  const listed: Loss[] = [];
  for (const [index, loss] of losses.entries()) {
    if (listed.length >= mostLosses) {
      const others = losses.length - index;
      return [...listed, { path: `+${others}`, reason: `${others} more are not listed`, code: loss.code }];
    }
    if (paths.has(loss.path)) continue;
    paths.add(loss.path);
    listed.push(loss);
  }
  return listed;
}

/** `turns[2].blocks[0].cache` → `["turns", 2, "blocks", 0, "cache"]`. */
function segments(path: string): (string | number)[] {
  return [...path.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([name, index]) =>
    index === undefined ? name : Number(index),
  );
}

function joined(parts: readonly (string | number)[]): string {
  return parts.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
}

/**
 * A canonical path in the client's own words: from the deepest thing on the way that knows where it stood (its `at`),
 * or else by the client's name for the field of the request. In `names`, `.cache` is the field of any such thing (of tools
 * alone, `tools.cache`), `..` its name where it is a field of whatever the thing stands in, and `reasoning.` is for what is
 * inside a field that the client has under several names.
 */
export function clientPath(
  path: string,
  request: CanonicalRequest,
  names: Readonly<Record<string, string>>,
): string {
  const parts = segments(path);
  const [first = path] = parts;
  const own = request.names ?? {};
  // A client may call a field `constructor`, which every object has.
  const named = (name: string | number): string | undefined => {
    const known = Object.hasOwn(own, name) ? own : names;
    return Object.hasOwn(known, name) ? known[name] : undefined;
  };
  let known = named(path) ?? (named(`${first}.`) ?? named(first) ?? String(first)) + joined(parts.slice(1));
  let value: unknown = request;
  for (const [index, part] of parts.entries()) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, part) : undefined;
    if (typeof value !== 'object' || value === null || !('at' in value) || typeof value.at !== 'string')
      continue;
    const rest = parts.slice(index + 1).map((name) => named(`${first}.${name}`) ?? named(`.${name}`) ?? name);
    known = within(value.at, rest);
  }
  return known;
}

function within(at: string, [first, ...rest]: readonly (string | number)[]): string {
  if (first === undefined) return at;
  return first === '..' ? at.replace(/\.[^.]*$/, '') + joined(rest) : at + joined([first, ...rest]);
}

/** What an encoder gives; where it refuses a field of the request itself, the refusal names the field as the client does. */
export function inClientWords<Encoded>(
  encode: () => Encoded,
  names: Readonly<Record<string, string>>,
): Encoded {
  try {
    return encode();
  } catch (thrown) {
    const { param = '' } = isGatewayError(thrown) ? thrown.details : {};
    if (!isGatewayError(thrown) || !Object.hasOwn(names, param)) throw thrown;
    throw new GatewayError(thrown.code, thrown.message, { ...thrown.details, param: names[param] });
  }
}

/** How many losses a bounded list stands for beside its entries. */
function unlisted(losses: readonly Loss[]): number {
  const { path = '' } = losses.at(-1) ?? {};
  return path.startsWith('+') ? Math.max(0, Number(path) - 1) || 0 : 0;
}

/** The paths for the `x-tollgate-dropped` header: as many as fit into 2 kB, then `+N` for the rest. */
export function lossHeader(losses: readonly Loss[]): string {
  const told: string[] = [];
  let length = 0;
  for (const [index, { path }] of losses.entries()) {
    const safe = path.replace(/[^\x21-\x2b\x2d-\x7e]/g, '?');
    length += safe.length + 1;
    if (length > headerBudget) return [...told, `+${losses.length - index + unlisted(losses)}`].join(',');
    told.push(safe);
  }
  return told.join(',');
}

/** The refusal of a call whose losses are not wanted; names the first one as the field at fault. */
export function lossRefusal(losses: readonly Loss[], target: string): GatewayError {
  const told = losses.slice(0, 8).map((loss) => `${loss.path} (${loss.reason})`);
  return new GatewayError('unsupported_parameter', `${target} cannot be given: ${told.join(', ')}.`, {
    param: losses[0]?.path,
  });
}
