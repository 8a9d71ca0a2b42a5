/**
 * Google accepts every field in camelCase and in snake_case, and a single object in place of a list. The
 * gateway converts a body to one spelling, and notes the original, by which it names fields to the client. A
 * field in both spellings is an error, because the vendor might read one of them and the gateway the other.
 */
import type { CanonicalRequest, Edit } from '../../../core/index.ts';
import { readMember } from '../wire-kit/values.ts';
import { isObject, splitNames, type Fields } from '../wire-kit/vendor-bag.ts';
import { buildFieldError } from '../wire-kit/wire-check.ts';

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
  audioTimestamp taskType outputDimensionality autoTruncate embedContentConfig documentOcr
  audioTrackExtraction
`);
/** Fields whose content belongs to the client. The names inside are not converted. */
const opaqueFields = splitNames(`
  args response parameters parametersJsonSchema responseSchema responseJsonSchema labels partMetadata
`);
/** Lists that Google's documentation sometimes writes as a single object. */
const listFields = splitNames('contents parts tools functionDeclarations safetySettings');

/**
 * The camelCase names of the fields that were written in snake_case. In what clients read, one that is so
 * anywhere counts as written so everywhere. Edits of a body go by its own names.
 */
export type Spelling = ReadonlySet<string>;

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
function findDuplicate(name: string, owner: Fields): string | undefined {
  if (!name.includes('_')) return undefined;
  const other = joinWords(name);
  return other !== name && Object.hasOwn(owner, other) ? other : undefined;
}

interface ReadSpelling {
  /** The body with known names in camelCase, and lists where the schema has lists. */
  readonly body: unknown;
  readonly spelling: Spelling;
}

/** Converts a body to camelCase. Throws `invalid_request` if a field occurs in both spellings. */
export function readSpelling(body: unknown): ReadSpelling {
  const spelling = new Set<string>();
  // Most bodies need no conversion, so long ones need not be copied.
  return { body: isUsual(body) ? body : convert(body, spelling), spelling };
}

function isUsual(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isUsual);
  if (!isObject(value)) return true;
  for (const name in value) if (!isUsualMember(name, value)) return false;
  return true;
}

function isUsualMember(name: string, owner: Fields): boolean {
  if (toCamelCase(name) !== name || findDuplicate(name, owner) !== undefined) return false;
  const content = owner[name];
  if (typeof content !== 'object' || content === null || opaqueFields.has(name)) return true;
  return (!listFields.has(name) || Array.isArray(content)) && isUsual(content);
}

/** The path of a value in the body, in the client's spelling. */
interface Place {
  readonly owner: Place | undefined;
  readonly step: string;
}

function formatPlace({ owner, step }: Place): string {
  return owner ? formatPlace(owner) + step : step;
}

function convert(value: unknown, spelling: Set<string>, owner?: Place): unknown {
  if (Array.isArray(value))
    return value.map((item: unknown, index) => convert(item, spelling, { owner, step: `[${index}]` }));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, content]): [string, unknown] => {
    const place = { owner, step: owner ? `.${name}` : name };
    const duplicate = findDuplicate(name, value);
    if (duplicate !== undefined)
      throw buildFieldError(formatPlace(place), `is also written as "${duplicate}"`, 'one of the two');
    const field = toCamelCase(name);
    if (field !== name) spelling.add(field);
    if (opaqueFields.has(field)) return [field, content];
    const isSingle = listFields.has(field) && isObject(content);
    return [field, convert(isSingle ? [content] : content, spelling, place)];
  });
  return Object.fromEntries(entries);
}

/** The path of a field in a client's own body, by the names that it has there. */
export function locateField(body: unknown, [first, ...others]: Edit['path']): Edit['path'] {
  const other = toSnakeCase(first);
  const name = isObject(body) && Object.hasOwn(body, other) ? other : first;
  const [second, ...rest] = others;
  return second === undefined ? [name] : [name, ...locateField(readMember(body, name), [second, ...rest])];
}

/** Spells the path of a field as the client wrote it. */
export function spellPath(path: string, spelling: Spelling): string {
  return path.replaceAll(/[A-Za-z]+/g, (name) => (spelling.has(name) ? toSnakeCase(name) : name));
}

/** Returns the names that this client spells differently, or undefined if there are none. */
export function spellNames(
  spelling: Spelling,
  usual: Readonly<Record<string, string>>,
  names: Readonly<Record<string, string>>,
): Record<string, string> | undefined {
  const other = Object.entries(names)
    .map(([name, path]) => [name, spellPath(path, spelling)] as const)
    .filter(([name, path]) => path !== (usual[name] ?? name));
  return other.length > 0 ? Object.fromEntries(other) : undefined;
}

/** Rewrites the source paths (`at`) in a request to the client's spelling. */
export function spellPlaces(spelling: Spelling, request: CanonicalRequest): CanonicalRequest {
  if (spelling.size === 0) return request;
  const respell = <Thing extends { at?: string | undefined }>(thing: Thing): Thing =>
    thing.at === undefined ? thing : { ...thing, at: spellPath(thing.at, spelling) };
  const turns = request.turns.map((turn) => ({
    ...respell(turn),
    blocks: turn.blocks.map((block) =>
      block.type === 'tool-result'
        ? { ...respell(block), content: block.content.map(respell) }
        : respell(block),
    ),
  }));
  return { ...request, turns, tools: request.tools?.map(respell) };
}
