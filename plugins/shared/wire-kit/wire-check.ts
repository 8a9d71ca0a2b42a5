/**
 * Checks a body against a wire schema. The error is one sentence that a caller can act on: the field as JSON would
 * address it, what it holds, and what to send instead. For a union, the sentence is about the branch that fits the value
 * best.
 */
import { z } from 'zod';
import { GatewayError } from '../../../core/index.ts';

type Issue = z.core.$ZodIssue;

const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

function oneOf(values: readonly unknown[]): string {
  const told = values.map((value) => JSON.stringify(value));
  return told.length === 1 ? String(told[0]) : `one of ${told.join(', ')}`;
}

function sized(origin: string, size: string): string {
  if (origin === 'array') return `an array of ${size}`;
  return origin === 'string' ? `a string of ${size} characters` : size;
}

/** What the branches of a union allow, for a value that fits none of them. */
function anyOf(errors: readonly (readonly Issue[])[]): string {
  return [...new Set(errors.flatMap(([first]) => first?.message ?? []))].join(' or ');
}

/** What is allowed at an issue, for schemas that do not say it themselves. */
function allowed(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') return kinds[issue.expected];
  if (issue.code === 'invalid_value') return oneOf(issue.values);
  if (issue.code === 'invalid_union')
    return Array.isArray(issue.options) ? oneOf(issue.options) : anyOf(issue.errors);
  if (issue.code === 'too_small') return sized(issue.origin, `${issue.minimum} or more`);
  if (issue.code === 'too_big') return sized(issue.origin, `at most ${issue.maximum}`);
  return undefined;
}

/** The issue itself, or for a union the issue of the branch that got furthest into the value. */
function nearest(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const inner = issue.errors.flatMap(([first]) => (first && first.path.length > 0 ? [first] : []))[0];
  return inner ? nearest({ ...inner, path: [...issue.path, ...inner.path] }) : issue;
}

/** `["messages", 0, "role"]` → `messages[0].role`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}

const longestShown = 60;

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'is an empty array' : 'is an array';
  if (typeof value === 'object' && value !== null) return 'is an object';
  // `JSON.stringify` would write an infinite number as null.
  const json = typeof value === 'number' ? String(value) : JSON.stringify(value);
  if (json.length <= longestShown) return `is ${json}`;
  // What a text is cut off behind is still told from what the gateway says.
  return `is ${json.slice(0, longestShown)}…${json.endsWith('"') ? '"' : ''}`;
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, part) => (typeof value === 'object' && value !== null ? Reflect.get(value, part) : undefined),
    body,
  );
}

/** The error for a field: its name, what it is, and what to send. */
export function badField(param: string, is: string, send: string): GatewayError {
  return new GatewayError('invalid_request', `"${param}" ${is}: send ${send}.`, { param });
}

/** `role` in `input[0]` → `input[0].role`. */
function below(at: string, path: string): string {
  return path === '' || path.startsWith('[') || at === '' ? at + path : `${at}.${path}`;
}

/** Only the first thing wrong is told: a list of half a million, with a report of each, would take seconds and gigabytes. */
const firstAlone: z.core.ParseContextInternal<Issue> = { error: allowed, abortEarly: true };

/**
 * The body as the schema gives it, or the part of one that stands at `at`. Throws `invalid_request` naming the first
 * field at fault.
 */
export function checkWire<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  at = '',
): z.output<Schema> {
  const parsed = schema.safeParse(body, firstAlone);
  if (parsed.success) return parsed.data;
  const [first] = parsed.error.issues;
  if (!first || (at === '' && first.path.length === 0 && first.code === 'invalid_type')) {
    throw new GatewayError('invalid_request', 'The body has to be a JSON object.');
  }
  const issue = nearest(first);
  const { path, message } = issue;
  if (issue.code === 'unrecognized_keys')
    throw badField(
      below(at, fieldPath([...path, issue.keys[0] ?? ''])),
      'is not known here',
      'the request without it',
    );
  const value = valueAt(body, path);
  throw badField(below(at, fieldPath(path)), value === undefined ? 'is missing' : shown(value), message);
}

/**
 * Makes a schema accept at once what `isPlain` recognises as a valid value without any unknown field. Checked field by
 * field, the thousands of messages of a long conversation would cost more than everything else done with them.
 */
export function orPlain<Schema extends z.ZodType>(
  schema: Schema,
  isPlain: (value: unknown) => boolean,
): Schema {
  const { run } = schema._zod;
  schema._zod.run = (payload, context) => (isPlain(payload.value) ? payload : run(payload, context));
  return schema;
}

export function between(low: number, high: number): z.ZodNumber {
  const range = `a number from ${low} to ${high}`;
  return z.number(range).min(low, range).max(high, range);
}

export function wholeBetween(low: number, high: number): z.ZodNumber {
  const range = `a whole number from ${low} to ${high}`;
  return z.int(range).min(low, range).max(high, range);
}
