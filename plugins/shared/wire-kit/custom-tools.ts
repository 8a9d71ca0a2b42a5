/**
 * A custom tool takes free text. A protocol without such tools gets a function with that text as its one argument, and
 * the text is taken out of the JSON of the model's call again.
 */
import type { Tool } from '../../../core/index.ts';
import type { Lose } from './losses.ts';
import { areNone } from './no-arguments.ts';
import { isObject, type Fields } from './vendor-bag.ts';

type CustomTool = Extract<Tool, { type: 'custom' }>;

/** How the tool's text should look. Here the model can only be told in words. */
function grammarOf(format: unknown): string {
  const grammar = isObject(format) && isObject(format.grammar) ? format.grammar : format;
  if (!isObject(grammar) || grammar.definition === undefined) return '';
  return `The input follows this grammar (${String(grammar.syntax)}):\n${String(grammar.definition)}`;
}

/** The description of the function and the schema of its arguments. A grammar is told as lost, since nothing makes the model keep to it. */
export function asFunction(
  { description = '', format }: CustomTool,
  path: string,
  lose: Lose,
): { description: string; schema: Fields } {
  const grammar = grammarOf(format);
  if (grammar !== '') lose(`${path}.format`, 'its grammar is told in its description', 'approximated');
  return {
    description: [description, grammar].filter(Boolean).join('\n\n'),
    schema: {
      type: 'object',
      properties: { input: { type: 'string' } },
      required: ['input'],
      additionalProperties: false,
    },
  };
}

export function wrapInput(input: string): string {
  return JSON.stringify({ input });
}

/** The text inside the arguments, or the arguments themselves where the model did not keep to the schema. */
export function unwrapInput(text: string): string {
  if (areNone(text)) return '';
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) && typeof parsed.input === 'string' ? parsed.input : text;
  } catch {
    return text;
  }
}
