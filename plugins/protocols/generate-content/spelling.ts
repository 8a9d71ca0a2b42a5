/**
 * Google accepts every field in camelCase and in snake_case, and a single object in place of a list. The
 * gateway converts a body to one spelling, and notes the original, by which it names fields to the client. A
 * field in both spellings is an error, because the vendor might read one of them and the gateway the other.
 */
import { isObject, splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { buildFieldError, formatPath } from '../../shared/wire-kit/wire-check.ts';

/** The fields that the gateway reads. All others keep their spelling. */
const knownFields = splitNames(`
  systemInstruction toolConfig generationConfig generateContentRequest safetySettings cachedContent
  continuationToken serviceTier inlineData mimeType displayName fileData fileUri functionCall functionResponse
  executableCode codeExecutionResult toolCall toolResponse thoughtSignature videoMetadata mediaResolution
  partMetadata mediaProcessing speechMetadata functionDeclarations parametersJsonSchema googleSearch
  googleSearchRetrieval enterpriseWebSearch codeExecution urlContext googleMaps fileSearch
  functionCallingConfig allowedFunctionNames topP topK candidateCount maxOutputTokens stopSequences
  presencePenalty frequencyPenalty responseLogprobs responseMimeType responseSchema responseJsonSchema
  responseModalities thinkingConfig includeThoughts thinkingBudget thinkingLevel speechConfig imageConfig
  audioTimestamp
`);
/** Fields whose content belongs to the client. The names inside are not converted. */
const opaqueFields = splitNames(`
  args response parameters parametersJsonSchema responseSchema responseJsonSchema labels partMetadata
`);
/** Lists that Google's documentation sometimes writes as a single object. */
const listFields = splitNames('contents parts tools functionDeclarations safetySettings');

type Path = readonly (string | number)[];

/** A field that was written in snake_case: its path in camelCase, as JSON. */
export type SpellingNote = string;

/**
 * Fields deeper than this, or below a longer name, keep their spelling. Each note repeats the complete path,
 * so without these limits the notes of a deep body would grow quadratically.
 */
const deepest = 16;
const longestName = 64;

/** Returns `topProvider` for `top_provider`. */
export function joinWords(name: string): string {
  return name.replaceAll(/_([a-z\d])/g, (_, letter: string) => letter.toUpperCase());
}

export function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Converts the name of a known field from snake_case to camelCase. Returns any other name unchanged. */
function toCamelCase(name: string): string {
  if (!name.includes('_')) return name;
  const other = joinWords(name);
  return knownFields.has(other) && toSnakeCase(other) === name ? other : name;
}

/** Returns the camelCase name of any snake_case field, known or not, if its owner has both. */
function findDuplicate(name: string, owner: Readonly<Record<string, unknown>>): string | undefined {
  if (!name.includes('_')) return undefined;
  const other = joinWords(name);
  return other !== name && Object.hasOwn(owner, other) ? other : undefined;
}

interface ReadSpelling {
  /** The body with known names in camelCase, and lists where the schema has lists. */
  readonly body: unknown;
  /** The fields in snake_case, outermost first. */
  readonly spelling: readonly SpellingNote[];
}

/** Converts a body to camelCase. Throws `invalid_request` if a field occurs in both spellings. */
export function readSpelling(body: unknown): ReadSpelling {
  if (isUsual(body)) return { body, spelling: [] };
  const spelling: SpellingNote[] = [];
  return { body: convert(body, [], spelling), spelling };
}

/** Whether a body needs no conversion. Most bodies need none, so long ones need not be copied. */
function isUsual(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isUsual);
  if (!isObject(value)) return true;
  for (const name in value) if (!isUsualMember(name, value)) return false;
  return true;
}

function isUsualMember(name: string, owner: Readonly<Record<string, unknown>>): boolean {
  if (toCamelCase(name) !== name || findDuplicate(name, owner) !== undefined) return false;
  const content = owner[name];
  if (typeof content !== 'object' || content === null || opaqueFields.has(name)) return true;
  return (!listFields.has(name) || Array.isArray(content)) && isUsual(content);
}

function convert(value: unknown, path: Path, spelling: SpellingNote[]): unknown {
  if (Array.isArray(value))
    return value.map((item: unknown, index) =>
      typeof item === 'object' ? convert(item, [...path, index], spelling) : item,
    );
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, content]): [string, unknown] => {
    const duplicate = findDuplicate(name, value);
    if (duplicate !== undefined)
      throw buildFieldError(
        formatPath([...path, name]),
        `is also written as "${duplicate}"`,
        'one of the two',
      );
    const field = toCamelCase(name);
    const place = [...path, field];
    if (field !== name) spelling.push(JSON.stringify(place));
    if (typeof content !== 'object' || content === null || opaqueFields.has(field)) return [field, content];
    if (field.length > longestName || path.length > deepest) return [field, content];
    if (!listFields.has(field) || Array.isArray(content)) return [field, convert(content, place, spelling)];
    return [field, [convert(content, [...place, 0], spelling)]];
  });
  return Object.fromEntries(entries);
}

function isPath(value: unknown): value is Path {
  return Array.isArray(value) && value.every((part) => typeof part === 'string' || typeof part === 'number');
}

/**
 * Creates a speller for paths without a note: a name that the client wrote in snake_case anywhere is in
 * snake_case everywhere. Returns undefined if the client wrote no such name.
 */
export function createSpeller(notes: readonly SpellingNote[]): ((path: string) => string) | undefined {
  const names = new Set(notes.flatMap((note) => /"(\w+)"\]$/.exec(note)?.[1] ?? []));
  if (names.size === 0) return undefined;
  return (path) => path.replaceAll(/[A-Za-z]+/g, (name) => (names.has(name) ? toSnakeCase(name) : name));
}

/** Spells the path of a field as the client wrote it. */
export function spellPath(path: string, notes: readonly SpellingNote[]): string {
  const root = /^\w*/.exec(path)?.[0] ?? '';
  let written = path;
  for (const note of notes.toReversed()) {
    if (!note.startsWith(`["${root}"`)) continue;
    const parts: unknown = JSON.parse(note);
    if (!isPath(parts)) continue;
    const place = formatPath(parts);
    if (written !== place && !written.startsWith(`${place}.`) && !written.startsWith(`${place}[`)) continue;
    const name = String(parts.at(-1));
    written = place.slice(0, -name.length) + toSnakeCase(name) + written.slice(place.length);
  }
  return written;
}
