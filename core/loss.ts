/**
 * Nothing that a target's wire cannot express is dropped in silence. An encoder lists each loss by the path
 * of the client's field; the lane reports it, or refuses the call if the client or the operator wants that.
 */
import type { CanonicalRequest } from './canonical/request.ts';
import { GatewayError, isGatewayError } from './util/errors.ts';

/** Why a field was lost. A closed set, because metrics count by it. */
export const lossCodes = [
  /** The target's protocol has no place for it. */
  'unsupported',
  /** The protocol has a place, but this model does not accept it. */
  'model',
  /** It was expressed in another way, or in part. */
  'approximated',
  /** Only the vendor that the client had in mind knows it. */
  'vendor',
  /** It is sealed for another vendor. */
  'state',
  /** It was left out so that the rest fits the model. */
  'truncated',
  /** A part of the reply that the client's protocol has no place for. */
  'reply',
] as const;

export type LossCode = (typeof lossCodes)[number];

export interface Loss {
  /** The client's field: `tools[2].strict`. For a reply, the kind of part: `reply.audio`. */
  readonly path: string;
  /** Why, in a few words for the client. */
  readonly reason: string;
  readonly code: LossCode;
}

const headerBudget = 2048;

/** Maximum losses listed per request. More help no reader, and each one takes memory and space in the log. */
const mostLosses = 1000;

/** The first thousand distinct paths, and one entry that counts the others. */
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
function splitPath(path: string): (string | number)[] {
  return [...path.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([name, index]) =>
    index === undefined ? name : Number(index),
  );
}

function joinPath(parts: readonly (string | number)[]): string {
  return parts.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
}

/**
 * A canonical path in the client's spelling: from the deepest node that recorded its source position (`at`),
 * otherwise from the client's name of the request's field. In `names`, `.cache` is that field of any node
 * (`tools.cache` of tools only), `..` is a node's name if it is a field of its parent, and `reasoning.`
 * covers fields inside one that the client has under several names.
 */
export function toClientPath(
  path: string,
  request: CanonicalRequest,
  names: Readonly<Record<string, string>>,
): string {
  const parts = splitPath(path);
  const [first = path] = parts;
  const own = request.names ?? {};
  // A client may name a field `constructor`, which every object has.
  const getName = (name: string | number): string | undefined => {
    const known = Object.hasOwn(own, name) ? own : names;
    return Object.hasOwn(known, name) ? known[name] : undefined;
  };
  let known =
    getName(path) ?? (getName(`${first}.`) ?? getName(first) ?? String(first)) + joinPath(parts.slice(1));
  let value: unknown = request;
  for (const [index, part] of parts.entries()) {
    value = typeof value === 'object' && value !== null ? Reflect.get(value, part) : undefined;
    if (typeof value !== 'object' || value === null || !('at' in value) || typeof value.at !== 'string')
      continue;
    const rest = parts
      .slice(index + 1)
      .map((name) => getName(`${first}.${name}`) ?? getName(`.${name}`) ?? name);
    known = appendPath(value.at, rest);
  }
  return known;
}

function appendPath(at: string, [first, ...rest]: readonly (string | number)[]): string {
  if (first === undefined) return at;
  return first === '..' ? at.replace(/\.[^.]*$/, '') + joinPath(rest) : at + joinPath([first, ...rest]);
}

/** Runs an encoder. If it refuses a field of the request, the error names the field as the client does. */
export function encodeInClientWords<Encoded>(
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

/** The number of paths that the last entry of a bounded list counts. */
function countUnlisted(paths: readonly string[]): number {
  const last = paths.at(-1) ?? '';
  return last.startsWith('+') ? Math.max(0, Number(last) - 1) || 0 : 0;
}

/** Paths of fields for a header: as many as fit into 2 kB, then `+N`. */
export function formatPaths(paths: readonly string[]): string {
  const listed: string[] = [];
  let length = 0;
  for (const [index, path] of paths.entries()) {
    const safe = path.replace(/[^\x21-\x2b\x2d-\x7e]/g, '?');
    length += safe.length + 1;
    if (length > headerBudget)
      return [...listed, `+${paths.length - index + countUnlisted(paths)}`].join(',');
    listed.push(safe);
  }
  return listed.join(',');
}

/** The error of a call whose losses are not accepted. It names the first one. */
export function toLossError(losses: readonly Loss[], target: string): GatewayError {
  const listed = losses.slice(0, 8).map((loss) => `${loss.path} (${loss.reason})`);
  return new GatewayError('unsupported_parameter', `${target} cannot be given: ${listed.join(', ')}.`, {
    param: losses[0]?.path,
  });
}
