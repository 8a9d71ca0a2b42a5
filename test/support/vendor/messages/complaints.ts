/**
 * Turns a failed check of a request's shape into the vendor's error: zod's issue in, the words of pydantic
 * out.
 */
import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

function formatComplaint(path: readonly PropertyKey[], words: string): string {
  return `${path.map(String).join('.')}: ${words}`;
}

/** Of a union's failures, those of the branch that got furthest into the value: the one the caller meant. */
function findMeantIssue(issue: Issue): Issue {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue;
  const computeReach = (issues: readonly Issue[]): number => {
    const [first] = issues;
    if (!first) return 0;
    return (
      first.path.length +
      (first.code === 'unrecognized_keys' ? 0.7 : first.code === 'invalid_type' ? 0 : 0.5) -
      issues.length / 10
    );
  };
  const [best] = issue.errors.toSorted((one, other) => computeReach(other) - computeReach(one));
  const inner = best?.[0];
  return inner ? findMeantIssue({ ...inner, path: [...issue.path, ...inner.path] }) : issue;
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a valid string',
  number: 'a valid number',
  int: 'a valid integer',
  boolean: 'a valid boolean',
  array: 'a valid list',
  object: 'a valid dictionary',
  record: 'a valid dictionary',
};

function describeRangeFault(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  const below = issue.code === 'too_small';
  const limit = String(below ? issue.minimum : issue.maximum);
  if (issue.origin === 'string')
    return `String should have at ${below ? 'least' : 'most'} ${limit} character${limit === '1' ? '' : 's'}`;
  if (issue.origin === 'array')
    return (
      `List should have at ${below ? 'least' : 'most'} ${limit} item${limit === '1' ? '' : 's'} ` +
      'after validation'
    );
  return `Input should be ${below ? 'greater' : 'less'} than or equal to ${limit}`;
}

export function describeIssue(raw: Issue): string {
  const issue = findMeantIssue(raw);
  if (issue.code === 'unrecognized_keys')
    return formatComplaint([...issue.path, issue.keys[0] ?? ''], 'Extra inputs are not permitted');
  if (issue.input === undefined && issue.code !== 'custom')
    return formatComplaint(issue.path, 'Field required');
  if (issue.code === 'too_small' || issue.code === 'too_big')
    return formatComplaint(issue.path, describeRangeFault(issue));
  if (issue.code === 'invalid_type')
    return formatComplaint(issue.path, `Input should be ${kinds[issue.expected] ?? issue.expected}`);
  if (issue.code === 'invalid_value')
    return formatComplaint(
      issue.path,
      `Input should be ${issue.values.map((value) => `'${String(value)}'`).join(' or ')}`,
    );
  if (issue.code === 'invalid_union') {
    return formatComplaint(
      issue.path,
      `Input tag ${JSON.stringify(issue.input)} found using 'type' does not match any of the expected tags`,
    );
  }
  if (issue.code === 'invalid_format' && issue.format === 'regex')
    return formatComplaint(
      issue.path,
      `String should match pattern '${(issue.pattern ?? '').replace(/^\/|\/$/g, '')}'`,
    );
  if (issue.code === 'invalid_format' && issue.format === 'base64')
    return formatComplaint(issue.path, 'Invalid base64 data');
  return formatComplaint(issue.path, issue.message);
}
