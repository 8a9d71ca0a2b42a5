/** Rewords errors about fields of an order with the options and arguments that a person typed for them. */
import { z } from 'zod';
import { isGatewayError } from '../../../../core/index.ts';
import type { Options, Verb } from './verbs.ts';

/** Fields that are typed under another name. */
const otherNames: Readonly<Record<string, string>> = {
  amount: 'usd',
  budgets: 'budget',
  per: 'limit',
  thresholds: 'warn',
};

type Typed = Pick<Verb, 'name' | 'options'>;

/** The flag or argument for the innermost field of a path that has one. */
function findTyped(verb: Typed, path: readonly PropertyKey[]): { text: string; option?: string } | undefined {
  const flags = (verb.options ?? []).map((option) => option.flags.split(' ')[0] ?? '');
  const parameters = verb.name.split(' ');
  for (const field of path.map(String).toReversed())
    for (const name of [field, otherNames[field] ?? field]) {
      const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
      if (flags.includes(flag)) return { text: flag, option: name };
      if (parameters.includes(`<${name}>`)) return { text: `<${name}>` };
    }
  return undefined;
}

/** The error in the words of the command line, or the same error if it names no field. */
export function rewordError(error: unknown, verb: Typed, options: Options): unknown {
  if (!isGatewayError(error)) return error;
  const { message, cause, details } = error;
  if (cause instanceof z.ZodError) {
    const lines = cause.issues.map((issue) => {
      const typed = findTyped(verb, issue.path);
      if (!typed) return [issue.path.join('.'), issue.message].filter(Boolean).join(': ');
      const isMissing = typed.option !== undefined && options[typed.option] === undefined;
      return `${typed.text}${isMissing ? ' is missing' : ''}: ${issue.message}`;
    });
    return new Error([...new Set(lines)].join('; '), { cause });
  }
  const { param = '' } = details;
  const typed = message.startsWith(`${param}: `) ? findTyped(verb, param.split('.')) : undefined;
  return typed ? new Error(typed.text + message.slice(param.length), { cause: error }) : error;
}
