/**
 * Explains invalid options to the operator: which option, what is allowed, and which similar options exist.
 * All of it comes from the schema, at any depth.
 */
import { z } from 'zod';

type Schema = z.core.$ZodType;
type Issue = z.core.$ZodIssue;

/** The schema behind defaults and similar wrappers. A union has several. */
export function unwrap(schema: Schema): Schema[] {
  if (
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable
  )
    return unwrap(schema.unwrap());
  if (schema instanceof z.ZodPipe) return unwrap(schema.in);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(unwrap);
  return [schema];
}

function stepInto(schema: Schema, step: PropertyKey): Schema[] {
  return unwrap(schema).flatMap((each) => {
    if (each instanceof z.ZodObject) return each.shape[String(step)] ?? [];
    if (each instanceof z.ZodArray) return each.element;
    return each instanceof z.ZodRecord ? each.valueType : [];
  });
}

/** The option names allowed at a path, in those branches of a union that do not know `unknown`. */
function listNames(schema: Schema, path: readonly PropertyKey[], unknown: readonly string[]): string[] {
  const here = path.reduce((places, step) => places.flatMap((place) => stepInto(place, step)), [schema]);
  const known = here
    .flatMap(unwrap)
    .flatMap((each) => (each instanceof z.ZodObject ? [Object.keys(each.shape)] : []));
  return [...new Set(known.filter((names) => !unknown.some((name) => names.includes(name))).flat())];
}

function quoteNames(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

/** The branch of a union that the operator most likely meant: the one whose errors are deepest. */
function guessBranch({ errors }: z.core.$ZodIssueInvalidUnion): readonly Issue[] {
  const computeDepth = (issues: readonly Issue[]): number =>
    Math.max(0, ...issues.map(({ path, code }) => path.length + (code === 'unrecognized_keys' ? 1 : 0)));
  const sorted = errors
    .filter((issues) => issues.length > 0)
    .toSorted((first, second) => computeDepth(second) - computeDepth(first));
  const [best = []] = sorted;
  return computeDepth(best) > 0 ? best : [];
}

/** A limit of a number, or of the length of a text or list. */
function describeLimit(origin: string, words: string, limit: number | bigint): string {
  if (origin !== 'string' && origin !== 'array') return `must be ${words} ${limit}`;
  if (words === 'at least' && Number(limit) === 1) return 'must not be empty';
  return `must have ${words} ${limit} ${origin === 'array' ? 'entries' : 'characters'}`;
}

/** What zod expects, without its words that something is wrong: an error says so already. */
function describeExpectation(issue: Issue): string {
  const { message } = issue;
  // A schema with words of its own keeps them.
  if (issue.code === 'too_small' && message.startsWith('Too small: '))
    return describeLimit(issue.origin, issue.inclusive ? 'at least' : 'more than', issue.minimum);
  if (issue.code === 'too_big' && message.startsWith('Too big: '))
    return describeLimit(issue.origin, issue.inclusive ? 'at most' : 'less than', issue.maximum);
  if (message === 'Invalid input: expected int, received number') return 'must be a whole number';
  return message.replace(/^Invalid input: /, '');
}

function describeFault(schema: Schema, issue: Issue, at: readonly PropertyKey[]): string[] {
  const path = [...at, ...issue.path];
  const name = path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = listNames(schema, path, issue.keys);
    return [
      `unknown option ${quoteNames(issue.keys.map((key) => [...path, key].join('.')))}; ` +
        `${name === '' ? 'it' : `"${name}"`} has ${quoteNames(known) || 'none'}`,
    ];
  }
  if (issue.code === 'invalid_union') {
    const faults = guessBranch(issue).flatMap((each) => describeFault(schema, each, path));
    if (faults.length > 0) return faults;
    const messages = [...new Set(issue.errors.flatMap((issues) => issues.map(describeExpectation)))];
    return [`option "${name}": ${messages.join(', or: ') || issue.message}`];
  }
  if (issue.code === 'invalid_key')
    return [`option "${name}": ${issue.issues.map(describeExpectation).join(', ')}`];
  if (issue.message.endsWith('received NaN'))
    return [`option "${name}": must be a number: check where it comes from, perhaps an environment variable`];
  return [name === '' ? describeExpectation(issue) : `option "${name}": ${describeExpectation(issue)}`];
}

export function describeFaults(schema: Schema, error: z.core.$ZodError): string {
  return error.issues.flatMap((issue) => describeFault(schema, issue, [])).join('; ');
}
