/**
 * Tools and the choice among them to the canonical form. A namespace is told on each tool in it; what else it says of
 * itself is kept on the first.
 */
import type { CanonicalRequest, Tool } from '../../../core/index.ts';
import { oneOfKnown } from '../../shared/wire-kit/open-values.ts';
import { isObject, leftover, nested, type Fields, type Sides } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import type { ReadTool } from './read-items.ts';
import { qualifyName } from './tool-names.ts';
import type { WireFlatTool, WireRequest } from './wire.ts';

type ToolChoice = NonNullable<CanonicalRequest['toolChoice']>;

export function decodeTools(tools: readonly ReadTool[] | undefined): Tool[] | undefined {
  const taken = new Set<string>();
  return tools?.flatMap((read, index): Tool[] => {
    const at = `tools[${index}]`;
    const { tool } = read;
    if (read.kind === 'hosted' || (tool.type === 'namespace' && !hasTools(tool)))
      return [decodeHosted(tool, at)];
    return read.tool.type === 'namespace'
      ? decodeNamespace(read.tool, at, taken)
      : [decodeTool(read.tool, at, undefined, taken, [], {})];
  });
}

function hasTools(tool: Fields): boolean {
  return Array.isArray(tool.tools) && tool.tools.length > 0;
}

export function isSearch({ type }: { readonly type?: unknown }): boolean {
  return String(type).startsWith('web_search');
}

function decodeHosted(tool: Fields, at: string): Tool {
  const type = String(tool.type);
  const kind = isSearch(tool) ? 'web-search' : type === 'code_interpreter' ? 'code-execution' : 'other';
  return { type: 'hosted', protocol: protocolName, kind, value: tool, at };
}

const namespaceFields = new Set(['type', 'name', 'tools']);

function decodeNamespace(
  namespace: Extract<Extract<ReadTool, { kind: 'own' }>['tool'], { type: 'namespace' }>,
  at: string,
  taken: Set<string>,
): Tool[] {
  return namespace.tools.map((tool, index) => {
    const first = index === 0;
    const about = first ? nested('namespace', leftover(namespace, namespaceFields)) : {};
    return decodeTool(
      tool,
      `${at}.tools[${index}]`,
      namespace.name,
      taken,
      first ? ['namespace'] : [],
      about,
    );
  });
}

const functionFields = new Set(['type', 'name', 'description', 'parameters', 'strict']);
const customFields = new Set(['type', 'name', 'description', 'format']);

function decodeTool(
  tool: WireFlatTool,
  at: string,
  namespace: string | undefined,
  taken: Set<string>,
  form: readonly string[],
  about: Fields,
): Tool {
  const { name: wireName, description } = tool;
  const name =
    namespace !== undefined && taken.has(wireName) ? qualifyName({ name: wireName, namespace }) : wireName;
  taken.add(name);
  const collectFlags = name === wireName ? form : [...form, `name=${wireName}`];
  const known = tool.type === 'function' ? functionFields : customFields;
  const sides: Sides & { at: string } = {
    at,
    ...bag.keep({ ...leftover(tool, known), ...about }, collectFlags),
  };
  const common = { name, description: description ?? undefined, namespace, ...sides };
  if (tool.type === 'custom')
    return { type: 'custom', ...common, format: nestGrammar(tool.format ?? undefined) };
  return {
    type: 'function',
    ...common,
    schema: tool.parameters ?? undefined,
    strict: tool.strict ?? undefined,
  };
}

/** A grammar stands flat here, and inside `grammar` in the canonical form, as chat-completions has it. */
function nestGrammar(format: Fields | undefined): Fields | undefined {
  if (!format || format.type !== 'grammar') return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

export function flattenGrammar(format: unknown): unknown {
  if (!isObject(format) || format.type !== 'grammar' || !isObject(format.grammar)) return format;
  return { type: 'grammar', ...format.grammar };
}

const choiceFields = new Set(['type', 'name']);
const allowedFields = new Set(['type', 'mode', 'tools']);

/** Whether a reference names a tool of the caller's own, and says no more. */
function isPlainReference(value: unknown): value is { type: string; name: string } {
  return (
    isObject(value) &&
    (value.type === 'function' || value.type === 'custom') &&
    typeof value.name === 'string' &&
    Object.keys(value).length === 2
  );
}

const modes = ['none', 'auto', 'required'] as const;

/** Undefined as well where a tool of the vendor's own is chosen, or in a way that is not known here: such a choice stays as it is, among the vendor's fields. */
export function decodeChoice(choice: WireRequest['tool_choice']): ToolChoice | undefined {
  if (typeof choice === 'string') {
    const mode = oneOfKnown(choice, modes);
    return mode && { mode };
  }
  if (!choice) return undefined;
  const { type, name, tools, mode } = choice;
  if ((type === 'function' || type === 'custom') && typeof name === 'string')
    return { mode: 'one', names: [name], ...bag.keep(leftover(choice, choiceFields)) };
  if (
    type !== 'allowed_tools' ||
    !Array.isArray(tools) ||
    !tools.every(isPlainReference) ||
    (mode !== 'auto' && mode !== 'required')
  )
    return undefined;
  return {
    mode: 'subset',
    names: tools.map((tool) => tool.name),
    required: mode === 'required',
    ...bag.keep(leftover(choice, allowedFields)),
  };
}
