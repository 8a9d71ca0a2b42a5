/** The options a schema has, one by one, with what each is where nothing is said: what a reference has to list. */
import { z } from 'zod';
import { unwrap } from '../../core/options.ts';

export interface OptionRow {
  /** Its path: `store.kind`. */
  readonly option: string;
  /** Its default as JSON; undefined where there is none. */
  readonly fallback: string | undefined;
}

type Schema = z.core.$ZodType;

/** What is taken where nothing is said, as it would have been written; undefined where nothing is. */
function fallbackOf(schema: Schema): unknown {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return schema.def.defaultValue;
  if (schema instanceof z.ZodPipe) return fallbackOf(schema.in);
  return undefined;
}

/** Options of options are listed alone, but where the outer one can also be a plain value. */
export function optionRows(schema: Schema, path = ''): OptionRow[] {
  const kinds = unwrap(schema);
  const objects = kinds.filter((kind) => kind instanceof z.ZodObject);
  const inner = objects.flatMap(({ shape }) => Object.entries<Schema>(shape)).flatMap(([name, each]) => optionRows(each, path === '' ? name : `${path}.${name}`));
  const unique = inner.filter(({ option }, index) => inner.findIndex((other) => other.option === option) === index);
  if (path === '' || (objects.length > 0 && objects.length === kinds.length)) return unique;
  const fallback = fallbackOf(schema);
  return [{ option: path, fallback: fallback === undefined ? undefined : JSON.stringify(fallback) }, ...unique];
}
