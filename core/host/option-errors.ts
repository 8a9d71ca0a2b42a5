/**
 * Explains invalid options to the person who wrote them: which option, what is allowed, and what exists
 * instead. All of it comes from the schema that checked them, at any depth.
 */
import { z } from 'zod';

type Schema = z.core.$ZodType;
type Issue = z.core.$ZodIssue;

/** What a schema checks once defaults and the like are looked through; a union checks several. */
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

function below(schema: Schema, step: PropertyKey): Schema[] {
  return unwrap(schema).flatMap((each) => {
    if (each instanceof z.ZodObject) return each.shape[String(step)] ?? [];
    if (each instanceof z.ZodArray) return each.element;
    return each instanceof z.ZodRecord ? each.valueType : [];
  });
}

/** The names of the options that may stand at a place. */
function namesAt(schema: Schema, path: readonly PropertyKey[]): string[] {
  const here = path.reduce((places, step) => places.flatMap((place) => below(place, step)), [schema]);
  return [
    ...new Set(
      here.flatMap(unwrap).flatMap((each) => (each instanceof z.ZodObject ? Object.keys(each.shape) : [])),
    ),
  ];
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}

/** Of the ways a value could have been right, the one that was meant: whose faults stand deepest in it. */
function meant({ errors }: z.core.$ZodIssueInvalidUnion): readonly Issue[] {
  const depth = (issues: readonly Issue[]): number =>
    Math.max(0, ...issues.map(({ path, code }) => path.length + (code === 'unrecognized_keys' ? 1 : 0)));
  const sorted = errors
    .filter((issues) => issues.length > 0)
    .toSorted((first, second) => depth(second) - depth(first));
  const [best = []] = sorted;
  return depth(best) > 0 ? best : [];
}

function faultOf(schema: Schema, issue: Issue, at: readonly PropertyKey[]): string[] {
  const path = [...at, ...issue.path];
  const name = path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = namesAt(schema, path);
    return [
      `unknown option ${quoted(issue.keys.map((key) => [...path, key].join('.')))}; ${name === '' ? 'it' : `"${name}"`} has ${quoted(known) || 'none'}`,
    ];
  }
  if (issue.code === 'invalid_union') {
    const faults = meant(issue).flatMap((each) => faultOf(schema, each, path));
    if (faults.length > 0) return faults;
    const messages = [...new Set(issue.errors.flatMap((issues) => issues.map(({ message }) => message)))];
    return [`option "${name}": ${messages.join(', or: ') || issue.message}`];
  }
  if (issue.code === 'invalid_key')
    return [`option "${name}": ${issue.issues.map(({ message }) => message).join(', ')}`];
  if (issue.message.endsWith('received NaN'))
    return [
      `option "${name}": it has to be a number and is none: look at what it is made of, a variable of the environment say`,
    ];
  return [name === '' ? issue.message : `option "${name}": ${issue.message}`];
}

/** Everything that is wrong, in one line. */
export function faultsOf(schema: Schema, error: z.core.$ZodError): string {
  return error.issues.flatMap((issue) => faultOf(schema, issue, [])).join('; ');
}
