/**
 * Google reads every field in camelCase and in snake_case, and one object where a list is due. A body is read in one
 * spelling, and how it was written is kept in words, so that the very same body can be restored. A field said in both
 * spellings is refused: the vendor may read the one and we would go by the other.
 */
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { badField, fieldPath } from '../../shared/wire-kit/wire-check.ts';

/** The fields that are read; all others stay as they are written, and go on so. */
const known: ReadonlySet<string> = new Set([
  'systemInstruction',
  'toolConfig',
  'generationConfig',
  'generateContentRequest',
  'safetySettings',
  'cachedContent',
  'serviceTier',
  'inlineData',
  'mimeType',
  'displayName',
  'fileData',
  'fileUri',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
  'thoughtSignature',
  'videoMetadata',
  'mediaResolution',
  'partMetadata',
  'mediaProcessing',
  'speechMetadata',
  'functionDeclarations',
  'parametersJsonSchema',
  'googleSearch',
  'googleSearchRetrieval',
  'enterpriseWebSearch',
  'codeExecution',
  'urlContext',
  'googleMaps',
  'fileSearch',
  'functionCallingConfig',
  'allowedFunctionNames',
  'topP',
  'topK',
  'candidateCount',
  'maxOutputTokens',
  'stopSequences',
  'presencePenalty',
  'frequencyPenalty',
  'responseLogprobs',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
  'responseModalities',
  'thinkingConfig',
  'includeThoughts',
  'thinkingBudget',
  'thinkingLevel',
  'speechConfig',
  'imageConfig',
  'audioTimestamp',
]);
/** Fields whose content is the client's own: its names are no spellings of ours. */
const closed: ReadonlySet<string> = new Set([
  'args',
  'response',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
  'labels',
  'partMetadata',
]);
/** Where documentation writes the one object in place of a list of it. */
const lists: ReadonlySet<string> = new Set([
  'contents',
  'parts',
  'tools',
  'functionDeclarations',
  'safetySettings',
]);

type Path = readonly (string | number)[];

/** What is read stands no deeper than this, and has no longer a name: below anything else a place would cost its whole length again with each field there. */
const deepest = 16;
const longestName = 64;

function inCamelCase(name: string): string {
  return name.replaceAll(/_([a-z\d])/g, (_, letter: string) => letter.toUpperCase());
}

/** The name in camelCase, where it is one of ours in snake_case. */
function camel(name: string): string {
  if (!name.includes('_')) return name;
  const other = inCamelCase(name);
  return known.has(other) && snake(other) === name ? other : name;
}

/** The same field in camelCase beside one in snake_case, be it one of ours or one that only Google knows. */
function otherSpelling(name: string, owner: Readonly<Record<string, unknown>>): string | undefined {
  if (!name.includes('_')) return undefined;
  const other = inCamelCase(name);
  return other !== name && Object.hasOwn(owner, other) ? other : undefined;
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export interface Spelt {
  /** The body with the names that are read in camelCase, and lists where they are due. */
  readonly body: unknown;
  /** How it was written, outermost first. */
  readonly words: readonly string[];
}

/** Throws `invalid_request` where a field stands twice. */
export function readSpelling(body: unknown): Spelt {
  if (isUsual(body)) return { body, words: [] };
  const words: string[] = [];
  return { body: read(body, [], words), words };
}

/** Whether a body is written as it is read: most are, and long ones are not copied for nothing. */
function isUsual(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isUsual);
  if (!isObject(value)) return true;
  for (const name in value) if (!isUsualMember(name, value)) return false;
  return true;
}

function isUsualMember(name: string, owner: Readonly<Record<string, unknown>>): boolean {
  if (camel(name) !== name || otherSpelling(name, owner) !== undefined) return false;
  const content = owner[name];
  if (typeof content !== 'object' || content === null || closed.has(name)) return true;
  return (!lists.has(name) || Array.isArray(content)) && isUsual(content);
}

function read(value: unknown, path: Path, words: string[]): unknown {
  if (Array.isArray(value))
    return value.map((item: unknown, index) =>
      typeof item === 'object' ? read(item, [...path, index], words) : item,
    );
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, content]): [string, unknown] => {
    const other = otherSpelling(name, value);
    if (other !== undefined)
      throw badField(fieldPath([...path, name]), `stands beside "${other}"`, 'one of the two');
    const field = camel(name);
    const place = [...path, field];
    if (field !== name) words.push(`snake:${JSON.stringify(place)}`);
    if (typeof content !== 'object' || content === null || closed.has(field)) return [field, content];
    if (field.length > longestName || path.length > deepest) return [field, content];
    if (!lists.has(field) || Array.isArray(content)) return [field, read(content, place, words)];
    words.push(`one:${JSON.stringify(place)}`);
    return [field, [read(content, [...place, 0], words)]];
  });
  return Object.fromEntries(entries);
}

function isPath(value: unknown): value is Path {
  return Array.isArray(value) && value.every((part) => typeof part === 'string' || typeof part === 'number');
}

/** Puts a body back into the spelling it was read in; what has gone meanwhile is passed over. */
export function writeSpelling(
  body: Record<string, unknown>,
  words: readonly string[],
): Record<string, unknown> {
  for (const word of words.toReversed()) {
    const way = /^(snake|one):/.exec(word)?.[1];
    const path: unknown = way === undefined ? undefined : JSON.parse(word.slice(way.length + 1));
    if (isPath(path)) rewrite(body, path, way === 'snake');
  }
  return body;
}

function rewrite(body: Record<string, unknown>, path: Path, rename: boolean): void {
  const parent = path
    .slice(0, -1)
    .reduce<unknown>(
      (value, part) => (typeof value === 'object' && value !== null ? Reflect.get(value, part) : undefined),
      body,
    );
  const name = path.at(-1);
  if (!isObject(parent) || typeof name !== 'string' || !Object.hasOwn(parent, name)) return;
  const value = parent[name];
  if (rename) {
    delete parent[name];
    parent[snake(name)] = value;
  } else if (Array.isArray(value) && value.length === 1) {
    parent[name] = value[0];
  }
}

/** How a client spells fields that are told without their place; undefined where it spells them as they are read. A name it writes in snake_case is told so everywhere. */
export function spellingOf(words: readonly string[]): ((path: string) => string) | undefined {
  const names = new Set(words.flatMap((word) => /^snake:.*"(\w+)"\]$/.exec(word)?.[1] ?? []));
  return names.size === 0
    ? undefined
    : (path) => path.replaceAll(/[A-Za-z]+/g, (name) => (names.has(name) ? snake(name) : name));
}

/** A field's path as the client wrote it. */
export function toldPath(path: string, words: readonly string[]): string {
  let told = path;
  const inside = `snake:["${/^\w*/.exec(path)?.[0] ?? ''}"`;
  for (const word of words.toReversed()) {
    if (!word.startsWith(inside)) continue;
    const parts: unknown = JSON.parse(word.slice('snake:'.length));
    if (!isPath(parts)) continue;
    const place = fieldPath(parts);
    if (told !== place && !told.startsWith(`${place}.`) && !told.startsWith(`${place}[`)) continue;
    const name = String(parts.at(-1));
    told = place.slice(0, place.length - name.length) + snake(name) + told.slice(place.length);
  }
  return told;
}
