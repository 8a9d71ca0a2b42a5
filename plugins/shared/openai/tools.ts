/**
 * Tools and the tool choice in both directions, in the flat form of responses: `{ type, name, … }`.
 * Chat-completions nests all but the type in a member with the type's name.
 */
import type { CanonicalRequest, Tool, ToolChoice } from '../../../core/index.ts';
import type { Lose } from '../wire-kit/losses.ts';
import { selectOfferedNames, fitNameByRule, hashText } from '../wire-kit/offered-tools.ts';
import { findKnown } from '../wire-kit/open-values.ts';
import { overlay, type Bag, type Fields } from '../wire-kit/vendor-bag.ts';

const longest = 64;
const rule = { good: /^[\w-]{1,64}$/, strange: /[^\w-]/g, longest };

/** Returns the name itself if OpenAI accepts it, or else a similar one. */
export function fitName(name: string): string {
  return fitNameByRule(name, rule);
}

/** Returns the id itself if OpenAI accepts it, or else a hash of it: a call and its result stay paired. */
export function fitCallId(id: string): string {
  return id.length > 0 && id.length <= longest ? id : `call_${hashText(id)}`;
}

interface Definition {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly parameters?: Fields | null | undefined;
  readonly strict?: boolean | null | undefined;
  readonly format?: Fields | null | undefined;
}

/** Decodes a function, or a custom tool, which takes free text. */
export function decodeDefinition(
  wire: Definition,
  type: 'function' | 'custom',
): Exclude<Tool, { type: 'hosted' }> {
  const { name, description: stated } = wire;
  const description = stated ?? undefined;
  if (type === 'custom') return { type, name, description, format: wire.format ?? undefined };
  const { parameters, strict } = wire;
  return { type, name, description, schema: parameters ?? undefined, strict: strict ?? undefined };
}

const modes = ['none', 'auto', 'required'] as const;

export function decodeMode(word: string): ToolChoice | undefined {
  const mode = findKnown(word, modes);
  return mode && { mode };
}

/** Decodes a choice of the allowed tools; undefined if only its vendor knows its mode. */
export function decodeSubset(mode: unknown, names: string[]): ToolChoice | undefined {
  return mode === 'auto' || mode === 'required'
    ? { mode: 'subset', names, required: mode === 'required' }
    : undefined;
}

/** Encodes a choice. A writer returns undefined to send a word instead. */
export function encodeChoice(
  request: CanonicalRequest,
  lose: Lose,
  bag: Bag,
  write: {
    readonly writeOne: (name: string) => Fields | undefined;
    readonly writeSubset: (names: readonly string[], mode: string) => Fields | undefined;
  },
): unknown {
  const { toolChoice } = request;
  if (!toolChoice) return undefined;
  const { mode, names: wanted = [], required } = toolChoice;
  const names = selectOfferedNames(request, lose);
  if (names.length === 0 && wanted.length > 0) return undefined;
  if (mode !== 'one' && mode !== 'subset') return mode;
  const word = mode === 'one' || required ? 'required' : 'auto';
  const wire = mode === 'one' ? write.writeOne(names[0] ?? '') : write.writeSubset(names, word);
  return wire ? overlay(bag.getFields(toolChoice), wire) : word;
}
