/**
 * A custom tool takes free text, and this wire has no such tools. It is offered as a function with that text as its
 * one argument, and what the model calls it with is taken out of its JSON again.
 */
import type { Tool } from '../../../core/index.ts';
import { isObject, type Fields } from '../../shared/vendor-bag.ts';

type CustomTool = Extract<Tool, { type: 'custom' }>;

/** How the tool's text is to look, for a model that is only told in words. */
function grammarOf(format: unknown): string {
  if (!isObject(format)) return '';
  // Chat-completions has the grammar in an object of its own, responses flat.
  const grammar = isObject(format['grammar']) ? format['grammar'] : format;
  if (grammar['definition'] === undefined) return '';
  return `The input follows this grammar (${String(grammar['syntax'])}):\n${String(grammar['definition'])}`;
}

export function asFunction(name: string, { description = '', format }: CustomTool): Fields {
  return {
    name,
    description: [description, grammarOf(format)].filter(Boolean).join('\n\n'),
    input_schema: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'], additionalProperties: false },
  };
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
