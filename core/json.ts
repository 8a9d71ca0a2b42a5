/**
 * A client's body from bytes to a value, with what is no JSON refused and what could not be written again: invalid
 * UTF-8, and nesting deeper than a stack goes. A field said twice is refused where its text goes on (splice.ts).
 */
import { isUtf8 } from 'node:buffer';
import { GatewayError } from './errors.ts';

const deepest = 128;

/** A client's body as it is read: its bytes, their text, and what the text says. */
export interface ReadBody {
  readonly bytes: Buffer;
  readonly text: string;
  readonly value: unknown;
}

/** Throws `invalid_request` saying what is wrong with the body as a whole. */
export function parseJson(bytes: Buffer): ReadBody {
  if (!isUtf8(bytes)) throw new GatewayError('invalid_request', 'The body is not valid UTF-8; send JSON encoded as UTF-8.');
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new GatewayError('invalid_request', `The body is not valid JSON: ${error instanceof Error ? error.message : 'it could not be read'}.`, { cause: error });
  }
  if (!isContainer(value) || Array.isArray(value)) {
    throw new GatewayError('invalid_request', 'The body has to be a JSON object.');
  }
  if (isDeeperThan(value, deepest)) throw new GatewayError('invalid_request', `The body is nested deeper than ${deepest} levels.`);
  return { bytes, text, value };
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Goes no deeper than the limit itself: the depth is the sender's choice, the stack is ours. Makes no array of an object's members, of which a long body has thousands. */
function isDeeperThan(value: Readonly<Record<string, unknown>>, limit: number): boolean {
  if (limit === 0) return true;
  if (Array.isArray(value)) return value.some((child: unknown) => isContainer(child) && isDeeperThan(child, limit - 1));
  for (const name in value) {
    const child = value[name];
    if (isContainer(child) && isDeeperThan(child, limit - 1)) return true;
  }
  return false;
}
