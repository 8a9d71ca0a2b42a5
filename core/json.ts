/**
 * A client's body from bytes to a value, with what is no JSON refused, what could not be written again (invalid UTF-8,
 * nesting deeper than a stack goes), and what nobody has to say. A field said twice is refused where its text goes on (splice.ts).
 */
import { isUtf8 } from 'node:buffer';
import { GatewayError } from './errors.ts';

const deepest = 128;
/** Fields in all, and objects and lists that stand in lists: the longest conversations have a tenth of that, and each takes a while in which nobody else is served. */
const mostFields = 250_000;

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
  const fields = countFields(value, deepest);
  if (fields === Infinity) throw new GatewayError('invalid_request', `The body is nested deeper than ${deepest} levels.`);
  if (fields > mostFields) throw new GatewayError('invalid_request', `The body has more than ${mostFields} fields, which no conversation needs.`);
  return { bytes, text, value };
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/**
 * Infinite where it is deeper than the limit: the depth is the sender's choice, the stack is ours. Makes no array of an
 * object's members, of which a long body has thousands.
 */
function countFields(value: Readonly<Record<string, unknown>>, limit: number): number {
  if (limit === 0) return Infinity;
  let fields = 0;
  if (Array.isArray(value)) {
    const children: readonly unknown[] = value;
    for (const child of children) if (isContainer(child)) fields += 1 + countFields(child, limit - 1);
    return fields;
  }
  for (const name in value) {
    const child = value[name];
    fields += isContainer(child) ? 1 + countFields(child, limit - 1) : 1;
  }
  return fields;
}
