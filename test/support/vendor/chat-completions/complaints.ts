/**
 * Turns a failed check of a request's shape into the vendor's error: zod's issue in, the vendor's words and
 * codes out. The codes are exact; the sentences are close to the vendor's, since a gateway passes them on and
 * people read them.
 */
import type { z } from 'zod';
import { complain, reject, type Complaint } from './refusals.ts';

type Issue = z.core.$ZodIssue;

const integers = new Set([
  'n',
  'seed',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'max_tool_calls',
  'top_logprobs',
]);

/** `messages[0].tool_calls[1].id` */
function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index ? '.' : ''}${String(step)}`))
    .join('');
}

function describeKind(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Of a union's failures, those of the branch that got furthest into the value: the one the caller meant. */
function findMeantIssue(issue: Issue): Issue {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue;
  const computeReach = ([first]: readonly Issue[]): number =>
    first ? first.path.length + (first.code === 'invalid_type' ? 0 : 0.5) : 0;
  const [best] = issue.errors.toSorted((one, other) => computeReach(other) - computeReach(one));
  const inner = best?.[0];
  if (!inner || computeReach([inner]) === 0) return issue;
  return findMeantIssue({ ...inner, path: [...issue.path, ...inner.path] });
}

function describeRangeFault(
  issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig,
  param: string,
): Complaint {
  const below = issue.code === 'too_small';
  const limit = below ? issue.minimum : issue.maximum;
  if (issue.origin === 'array')
    return below
      ? complain(
          `Invalid '${param}': empty array. Expected an array with minimum length ${limit}.`,
          param,
          'empty_array',
        )
      : complain(
          `Invalid '${param}': array too long. Expected at most ${limit} items.`,
          param,
          'array_above_max_length',
        );
  if (issue.origin === 'string') {
    const length = typeof issue.input === 'string' ? issue.input.length : 0;
    const message =
      `Invalid '${param}': string too ${below ? 'short' : 'long'}. ` +
      `Expected ${below ? 'min' : 'max'}imum length ${limit}, but got length ${length}.`;
    return complain(message, param, below ? 'empty_string' : 'string_above_max_length');
  }
  const kind = integers.has(param) ? 'integer' : 'decimal';
  const wanted =
    `${kind} ${below ? 'below minimum' : 'above maximum'} value. ` +
    `Expected a value ${below ? '>=' : '<='} ${limit}`;
  return complain(
    `Invalid '${param}': ${wanted}, but got ${String(issue.input)} instead.`,
    param,
    `${kind}_${below ? 'below_min' : 'above_max'}_value`,
  );
}

function describeIssue(raw: Issue): Complaint {
  const issue = findMeantIssue(raw);
  const param = formatPath(issue.path);
  if (issue.code === 'unrecognized_keys') {
    const unknown = formatPath([...issue.path, issue.keys[0] ?? '']);
    return complain(`Unknown parameter: '${unknown}'.`, unknown, 'unknown_parameter');
  }
  if (issue.input === undefined && issue.code !== 'custom')
    return complain(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter');
  if (issue.code === 'too_small' || issue.code === 'too_big') return describeRangeFault(issue, param);
  if (issue.code === 'invalid_union' && issue.errors.length === 0) {
    const value = JSON.stringify(issue.input);
    return complain(
      `Invalid value for '${param}': ${value} is none of those supported.`,
      param,
      'invalid_value',
    );
  }
  if (issue.code === 'invalid_type' || issue.code === 'invalid_union') {
    const wanted = issue.code === 'invalid_type' ? `expected ${issue.expected}, but got` : 'got';
    const message = `Invalid type for '${param}': ${wanted} ${describeKind(issue.input)} instead.`;
    return complain(message, param, 'invalid_type');
  }
  return complain(`Invalid value for '${param}': ${issue.message}.`, param, 'invalid_value');
}

/** A value of this shape; the first failure of its check is the complaint. */
export function readShape<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const { data, error } = schema.safeParse(value, { reportInput: true });
  const [issue] = error?.issues ?? [];
  if (issue) reject(describeIssue(issue));
  if (data === undefined) throw new Error('a value without a shape has an issue');
  return data;
}
