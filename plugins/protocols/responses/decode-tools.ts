/**
 * Decodes tools and the tool choice to the canonical form. Each tool of a namespace carries the namespace's
 * name; the first one also keeps its other fields.
 */
import type { HostedTool, Tool, ToolChoice } from '../../../core/index.ts';
import { searchName } from '../../shared/wire-kit/hosted-tools.ts';
import { findKnown } from '../../shared/wire-kit/open-values.ts';
import { isObject, pickUnread, nestFields, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import type { ReadTool } from './read-items.ts';
import { buildNameKey, qualifyName } from './tool-names.ts';
import type * as Wire from './wire.ts';

/** `names` is filled with the client's names of tools that have others in the canonical form. */
export function decodeTools(
  tools: readonly ReadTool[] | undefined,
  names: Record<string, string>,
): Tool[] | undefined {
  // A tool outside of namespaces keeps its name, wherever it stands.
  const taken: TakenNames = new Map(tools?.flatMap(listPlainName).map((name) => [name, undefined]));
  return tools?.flatMap((read): Tool[] => {
    const { tool, at } = read;
    if (read.kind === 'hosted' || (tool.type === 'namespace' && !hasTools(tool)))
      return [decodeHosted(tool, at)];
    return read.tool.type === 'namespace'
      ? decodeNamespace(read.tool, at, { taken, names })
      : [decodeTool(read.tool, { at }, { taken, names })];
  });
}

function listPlainName({ kind, tool }: ReadTool): string[] {
  return kind === 'own' && tool.type !== 'namespace' ? [tool.name] : [];
}

function hasTools(tool: Fields): boolean {
  return Array.isArray(tool.tools) && tool.tools.length > 0;
}

export function isSearch({ type }: { readonly type?: unknown }): boolean {
  return type === 'browser_search' || String(type).startsWith('web_search');
}

/** OpenAI's first search, which has a price of its own on models that do not reason. */
export function isPreviewSearch({ type }: { readonly type?: unknown }): boolean {
  return String(type).startsWith('web_search_preview');
}

function decodeHosted(tool: Fields, at: string): Tool {
  return { type: 'hosted', protocol: protocolName, kind: readHostedKind(tool), value: tool, at };
}

function readHostedKind(tool: Fields): HostedTool['kind'] {
  if (isSearch(tool)) return 'web-search';
  return tool.type === 'code_interpreter' ? 'code-execution' : 'other';
}

/** Canonical names, with the namespaces of their tools. A tool of another namespace cannot have one. */
type TakenNames = Map<string, string | undefined>;

interface NamedTools {
  readonly taken: TakenNames;
  readonly names: Record<string, string>;
}

type WireNamespace = Extract<Wire.OwnTool, { type: 'namespace' }>;

function decodeNamespace(namespace: WireNamespace, at: string, named: NamedTools): Tool[] {
  return namespace.tools.map((tool, index) => {
    const place = { at: `${at}.tools[${index}]`, namespace: namespace.name };
    const first = { ...place, about: pickUnread(namespace, ['type', 'name', 'tools']) };
    return decodeTool(tool, index === 0 ? first : place, named);
  });
}

const functionFields = new Set(['type', 'name', 'description', 'parameters', 'strict']);
const customFields = new Set(['type', 'name', 'description', 'format']);

interface ToolPlace {
  readonly at: string;
  readonly namespace?: string;
  /** The namespace's own fields, on its first tool. */
  readonly about?: Fields;
}

function decodeTool(tool: Wire.FlatTool, place: ToolPlace, { taken, names }: NamedTools): Tool {
  const { at, namespace, about = {} } = place;
  const { name: wireName, description } = tool;
  const isTaken = namespace !== undefined && taken.has(wireName) && taken.get(wireName) !== namespace;
  const name = isTaken ? qualifyName({ name: wireName, namespace }) : wireName;
  taken.set(name, namespace);
  if (name !== wireName) names[buildNameKey(name)] = wireName;
  const fields = {
    ...pickUnread(tool, tool.type === 'function' ? functionFields : customFields),
    ...nestFields('namespace', about),
  };
  const common = {
    name,
    description: description ?? undefined,
    namespace,
    at,
    ...bag.keep(fields),
  };
  if (tool.type === 'custom')
    return { type: 'custom', ...common, format: nestGrammar(tool.format ?? undefined) };
  return {
    type: 'function',
    ...common,
    schema: tool.parameters ?? undefined,
    strict: tool.strict ?? undefined,
  };
}

/** A grammar is flat here. In the canonical form it is inside `grammar`, as in chat-completions. */
function nestGrammar(format: Fields | undefined): Fields | undefined {
  if (!format || format.type !== 'grammar') return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

export function flattenGrammar(format: unknown): unknown {
  if (!isObject(format) || format.type !== 'grammar' || !isObject(format.grammar)) return format;
  return { type: 'grammar', ...format.grammar };
}

function isPlainReference(value: unknown): value is { type: string; name: string } {
  return (
    isObject(value) &&
    (value.type === 'function' || value.type === 'custom') &&
    typeof value.name === 'string' &&
    Object.keys(value).length === 2
  );
}

const modes = ['none', 'auto', 'required'] as const;

/**
 * Returns undefined for a choice of a hosted tool other than a search, or of an unknown type. Such a choice
 * is kept unchanged among the vendor's fields.
 */
export function decodeChoice(choice: Wire.Request['tool_choice']): ToolChoice | undefined {
  if (typeof choice === 'string') {
    const mode = findKnown(choice, modes);
    return mode && { mode };
  }
  if (!choice) return undefined;
  const { type, name, tools, mode } = choice;
  if ((type === 'function' || type === 'custom') && typeof name === 'string')
    return { mode: 'one', names: [name], ...bag.keep(pickUnread(choice, ['type', 'name'])) };
  if (isSearch(choice))
    return {
      mode: 'one',
      names: [searchName],
      ...bag.keep(pickUnread(choice, ['type'])),
    };
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
    ...bag.keep(pickUnread(choice, ['type', 'mode', 'tools'])),
  };
}
