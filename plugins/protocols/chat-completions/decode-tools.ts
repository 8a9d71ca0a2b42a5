/**
 * Decodes tools and the tool choice. `functions` and `function_call` are the old names of `tools` and
 * `tool_choice`.
 */
import type { Tool, ToolChoice } from '../../../core/index.ts';
import { findKnown } from '../../shared/wire-kit/open-values.ts';
import { pickUnread, nestFields, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { liftToolMark } from './foreign-marks.ts';
import * as Wire from './wire.ts';

export function decodeTools(wire: Wire.Request): Tool[] | undefined {
  let tools = wire.tools?.map((tool, index) => liftToolMark({ ...decodeTool(tool), at: `tools[${index}]` }));
  if (!wire.tools && wire.functions)
    tools = wire.functions.map((definition, index) => ({
      ...decodeTool({ type: 'function', function: definition }),
      at: `functions[${index}]`,
    }));
  const at = 'web_search_options';
  const { [at]: value } = wire;
  if (!value) return tools;
  const search = { type: 'hosted', protocol: protocolName, kind: 'web-search', value, at } as const;
  return [...(tools ?? []), search];
}

export function decodeToolChoice(wire: Wire.Request): ToolChoice | undefined {
  const call = wire.function_call;
  if (wire.tool_choice || !call) return decodeChoice(wire.tool_choice);
  if (typeof call !== 'string') {
    const rest = nestFields('function', pickUnread(call, nameField));
    return { mode: 'one', names: [call.name], ...bag.keep(rest) };
  }
  const mode = decodeMode(call);
  return mode && { mode };
}

const functionFields = new Set(['name', 'description', 'parameters', 'strict']);
const customFields = new Set(['name', 'description', 'format']);

/** Returns the unread fields of an object, and of the object inside it that is named after its type. */
function readInnerLeftover(outer: object, name: string, inner: object, known: ReadonlySet<string>): Fields {
  return { ...pickUnread(outer, ['type', name]), ...nestFields(name, pickUnread(inner, known)) };
}

/** Groq's `browser_search` is a web search, too. */
export function isSearch({ type }: Wire.Tool): boolean {
  return type === 'browser_search' || (type?.includes('web_search') ?? false);
}

function decodeTool(tool: Wire.Tool): Tool {
  if (!Wire.isOwnTool(tool)) {
    const kind = isSearch(tool) ? 'web-search' : 'other';
    return { type: 'hosted', protocol: protocolName, kind, value: tool };
  }
  if (tool.type === 'custom') {
    const { name, description, format } = tool.custom;
    return {
      type: 'custom',
      name,
      description: description ?? undefined,
      format: format ?? undefined,
      ...bag.keep(readInnerLeftover(tool, 'custom', tool.custom, customFields)),
    };
  }
  const { name, description, parameters, strict } = tool.function;
  return {
    type: 'function',
    name,
    description: description ?? undefined,
    schema: parameters ?? undefined,
    strict: strict ?? undefined,
    ...bag.keep(readInnerLeftover(tool, 'function', tool.function, functionFields)),
  };
}

const nameField = new Set(['name']);
const allowedFields = new Set(['mode', 'tools']);

const modes = ['none', 'auto', 'required'] as const;

/** Mistral writes "any" for "required". */
function decodeMode(mode: string): (typeof modes)[number] | undefined {
  return mode === 'any' ? 'required' : findKnown(mode, modes);
}

/** Returns undefined for a choice that only its provider knows too; `readChoiceLeftover` keeps that one. */
function decodeChoice(choice: Wire.Request['tool_choice']): ToolChoice | undefined {
  if (!choice) return undefined;
  if (typeof choice !== 'string') return Wire.isNamedChoice(choice) ? decodeNamed(choice) : undefined;
  const mode = decodeMode(choice);
  return mode && { mode };
}

function decodeNamed(choice: Wire.NamedChoice): ToolChoice {
  if (choice.type !== 'allowed_tools') {
    const inner = choice.type === 'function' ? choice.function : choice.custom;
    const rest = readInnerLeftover(choice, choice.type, inner, nameField);
    return { mode: 'one', names: [inner.name], ...bag.keep(rest) };
  }
  const { mode, tools } = choice.allowed_tools;
  const rest = readInnerLeftover(choice, 'allowed_tools', choice.allowed_tools, allowedFields);
  return {
    mode: 'subset',
    names: tools.flatMap(readReferredName),
    required: mode === 'required',
    ...bag.keep(rest),
  };
}

/** Returns the choices that only their provider knows. */
export function readChoiceLeftover({ tool_choice: choice, function_call: call }: Wire.Request): Fields {
  const isKnown =
    !choice || (typeof choice === 'string' ? decodeMode(choice) !== undefined : Wire.isNamedChoice(choice));
  const isKnownCall = typeof call !== 'string' || decodeMode(call) !== undefined;
  return { ...(isKnown ? {} : { tool_choice: choice }), ...(isKnownCall ? {} : { function_call: call }) };
}

export function readReferredName(reference: Wire.Reference): string[] {
  if (!Wire.isReference(reference)) return [];
  return [reference.type === 'function' ? reference.function.name : reference.custom.name];
}
