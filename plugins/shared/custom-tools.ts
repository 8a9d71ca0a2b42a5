/**
 * A custom tool takes free text. On a wire without such tools it is offered as a function with that text as its one
 * argument, and what the model calls it with is taken out of its JSON again.
 */
import type { Tool } from '../../core/index.ts';
import type { Lose } from './losses.ts';
import { isObject, type Fields } from './vendor-bag.ts';

type CustomTool = Extract<Tool, { type: 'custom' }>;

/** How the tool's text is to look, for a model that is only told in words. */
function grammarOf(format: unknown): string {
  const grammar = isObject(format) && isObject(format['grammar']) ? format['grammar'] : format;
  if (!isObject(grammar) || grammar['definition'] === undefined) return '';
  return `The input follows this grammar (${String(grammar['syntax'])}):\n${String(grammar['definition'])}`;
}

/** What the function says of itself, and the schema of its arguments; a grammar nobody holds the model to is told. */
export function asFunction({ description = '', format }: CustomTool, path: string, lose: Lose): { description: string; schema: Fields } {
  const grammar = grammarOf(format);
  if (grammar !== '') lose(`${path}.format`, 'its grammar is told in its description', 'approximated');
  return {
    description: [description, grammar].filter(Boolean).join('\n\n'),
    schema: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'], additionalProperties: false },
  };
}

export function wrapInput(input: string): string {
  return JSON.stringify({ input });
}

/** The text inside the arguments; the arguments themselves where the model did not keep to the form. */
export function unwrapInput(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) && typeof parsed['input'] === 'string' ? parsed['input'] : text;
  } catch {
    return text;
  }
}
