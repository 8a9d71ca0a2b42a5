/**
 * Validates a body with a wire schema. The error is one sentence that a client can act on: the field's path,
 * its value, and what to send instead. For a union, the sentence is about the branch that fits the value
 * best.
 */
import { z } from 'zod';
import { GatewayError } from '../../../core/index.ts';
import { isBase64, readBase64, readDataUrl } from './media.ts';
import { readMember } from './values.ts';

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

function listValues(values: readonly unknown[]): string {
  const texts = values.map((value) => JSON.stringify(value));
  return texts.length === 1 ? String(texts[0]) : `one of ${texts.join(', ')}`;
}

function describeSize(origin: string, size: string): string {
  if (origin === 'array') return `an array of ${size}`;
  return origin === 'string' ? `a string of ${size} characters` : size;
}

/** What the branches of a union accept, for a value that fits none of them. */
function listBranches(errors: readonly (readonly Issue[])[]): string {
  return [...new Set(errors.flatMap(([first]) => first?.message ?? []))].join(' or ');
}

/** What to send instead, for schemas without a message of their own. */
function describeExpected(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') return kinds[issue.expected];
  if (issue.code === 'invalid_value') return listValues(issue.values);
  if (issue.code === 'invalid_union')
    return Array.isArray(issue.options) ? listValues(issue.options) : listBranches(issue.errors);
  if (issue.code === 'too_small') return describeSize(issue.origin, `${issue.minimum} or more`);
  if (issue.code === 'too_big') return describeSize(issue.origin, `at most ${issue.maximum}`);
  return undefined;
}

/** The issue itself, or for a union the issue of the branch that got furthest into the value. */
function findNearest(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const inner = issue.errors.flatMap(([first]) => (first && first.path.length > 0 ? [first] : []))[0];
  return inner ? findNearest({ ...inner, path: [...issue.path, ...inner.path] }) : issue;
}

const longestShown = 60;

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'is an empty array' : 'is an array';
  if (typeof value === 'object' && value !== null) return 'is an object';
  // `JSON.stringify` would write an infinite number as null.
  const json = typeof value === 'number' ? String(value) : JSON.stringify(value);
  if (json.length <= longestShown) return `is ${json}`;
  // The closing quote keeps a cut text apart from the gateway's own words.
  return `is ${json.slice(0, longestShown)}…${json.endsWith('"') ? '"' : ''}`;
}

/** The error for a field: `"{param}" {is}: send {send}.` */
export function buildFieldError(param: string, is: string, send: string): GatewayError {
  return new GatewayError('invalid_request', `"${param}" ${is}: send ${send}.`, { param });
}

/** `role` in `input[0]` → `input[0].role`. */
function joinPath(at: string, path: string): string {
  return path === '' || path.startsWith('[') || at === '' ? at + path : `${at}.${path}`;
}

/** Stops at the first issue: half a million of them would take seconds and gigabytes. */
const firstIssueOnly: z.core.ParseContextInternal<Issue> = { error: describeExpected, abortEarly: true };

/** Parses a body, or its part at the path `at`. Throws `invalid_request` with the first field at fault. */
export function checkWire<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  at = '',
): z.output<Schema> {
  const parsed = schema.safeParse(body, firstIssueOnly);
  if (parsed.success) return parsed.data;
  const [first] = parsed.error.issues;
  if (!first || (at === '' && first.path.length === 0 && first.code === 'invalid_type')) {
    throw new GatewayError('invalid_request', 'The body has to be a JSON object.');
  }
  const issue = findNearest(first);
  const { path, message } = issue;
  if (issue.code === 'unrecognized_keys')
    throw buildFieldError(
      joinPath(at, z.core.toDotPath([...path, issue.keys[0] ?? ''])),
      'is not known here',
      'the request without it',
    );
  const value = path.reduce(readMember, body);
  throw buildFieldError(
    joinPath(at, z.core.toDotPath(path)),
    value === undefined ? 'is missing' : describeValue(value),
    message,
  );
}

/** A number in this range, both ends included. */
export function allowNumber(low: number, high: number): z.ZodNumber {
  const range = `a number from ${low} to ${high}`;
  return z.number(range).min(low, range).max(high, range);
}

/** A whole number in this range, both ends included. */
export function allowInteger(low: number, high: number): z.ZodNumber {
  const range = `a whole number from ${low} to ${high}`;
  return z.int(range).min(low, range).max(high, range);
}

const idText = 'a model id of the form <provider>/<model_name>';
export const modelId = z.string(idText).min(1, idText);

const tokens = 'a whole number of tokens, at least 1';
export const tokenLimit = z.int(tokens).positive(tokens);

const base64 = 'base64 data';
export const base64Data = z.string(base64).min(1, base64).refine(isBase64, base64);
/** A URL. The data of one that holds base64 is checked. */
export const mediaUrl = z
  .string()
  .min(1)
  .refine((url) => isBase64(readDataUrl(url)?.data ?? ''), 'a data URL that holds base64 data');
/** The same, or base64 alone. */
export const fileData = z
  .string()
  .min(1)
  .refine((data) => isBase64(readBase64(data)), 'base64 data, or a data URL that holds it');
