/** The options of a schema, one by one with their defaults: what a reference has to list. */
import { z } from 'zod';
import { unwrap } from '../../core/util/option-errors.ts';

export interface OptionRow {
  /** Its path: `store.kind`. */
  readonly option: string;
  /** Its default as JSON; undefined if there is none. */
  readonly fallback: string | undefined;
}

type Schema = z.core.$ZodType;

/** The value used if the option is unset, as it would be written; undefined if there is none. */
function findFallback(schema: Schema): unknown {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return schema.def.defaultValue;
  if (schema instanceof z.ZodPipe) return findFallback(schema.in);
  return undefined;
}

/** A shape defined by others is no option of ours: a service account's key. */
function isOurs(kind: Schema): kind is z.ZodObject {
  return kind instanceof z.ZodObject && !(kind.def.catchall instanceof z.ZodUnknown);
}

/**
 * Nested options are listed alone, unless the outer one can also be a plain value. `given` is what an outer
 * default says of it.
 */
export function listOptionRows(schema: Schema, path = '', given?: unknown): OptionRow[] {
  const kinds = unwrap(schema);
  const objects = kinds.filter(isOurs);
  const fallback = findFallback(schema) ?? given;
  const getInner = (name: string): unknown =>
    typeof fallback === 'object' && fallback !== null
      ? Object.entries(fallback).find(([key]) => key === name)?.[1]
      : undefined;
  const inner = objects
    .flatMap(({ shape }) => Object.entries<Schema>(shape))
    .flatMap(([name, each]) => listOptionRows(each, path === '' ? name : `${path}.${name}`, getInner(name)));
  const unique = inner.filter(
    ({ option }, index) => inner.findIndex((other) => other.option === option) === index,
  );
  if (path === '' || (objects.length > 0 && objects.length === kinds.length)) return unique;
  // A variable that may be set counts as unset if it is not.
  return [
    {
      option: path,
      fallback: fallback === undefined || fallback === '' ? undefined : JSON.stringify(fallback),
    },
    ...unique,
  ];
}
