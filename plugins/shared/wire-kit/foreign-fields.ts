/**
 * Fields that only the client's own protocol has, in a request that goes to another: each is told as lost, member by
 * member, and the call is refused where an answer without it would be worthless.
 */
import { GatewayError, type Block, type CanonicalRequest, type Loss } from '../../../core/index.ts';
import { refuseUnknown, refuseUnknownWord } from './open-values.ts';
import { isObject, type Sides } from './vendor-bag.ts';

/** Objects of which a protocol reads only some members; the bag holds the others. */
const readInPart: ReadonlySet<string> = new Set([
  'allowed_tools',
  'cache_control',
  'custom',
  'file',
  'function',
  'functionCall',
  'functionResponse',
  'image_url',
  'input_audio',
  'item',
  'namespace',
  'output_config',
  'generationConfig.thinkingConfig',
  'prompt_cache_breakpoint',
  'reasoning',
  'response_format',
  'source',
  'stream_options',
  'text',
  'thinking',
  'toolConfig.functionCallingConfig',
]);

/** Fields of thoughts that are only numbers or dates, or repeat their text. */
const aboutThoughts: ReadonlySet<string> = new Set([
  'type',
  'id',
  'index',
  'format',
  'reasoning',
  'reasoning_content',
  'closed',
]);

/** State that a vendor keeps. Without it the request would mean something else. */
const kept: ReadonlySet<string> = new Set(['cachedContent', 'container']);

/**
 * Whether nothing changes when a field is left out: padding against eavesdroppers, a switch set to what other protocols
 * do anyway, an empty list of citations.
 */
function isHarmless(name: string, value: unknown): boolean {
  if (name === 'annotations') return Array.isArray(value) && value.length === 0;
  if (name === 'citations') return isObject(value) && value.enabled === false;
  return name === 'include_obfuscation' || (value === false && (name === 'store' || name === 'thought'));
}

/** Asks for a shortened conversation that only its vendor can read. Codex waits for that, and has no use for another answer. */
const shortener = 'compaction_trigger';

/** Throws where a block asks for something that only the vendor of its protocol can answer. */
function refuseShortener(block: Block, protocol: string, path: string): void {
  if (
    block.type !== 'foreign' ||
    block.protocol === protocol ||
    !isObject(block.value) ||
    block.value.type !== shortener
  )
    return;
  throw new GatewayError(
    'unsupported_parameter',
    `A "${shortener}" is understood by models of ${block.protocol} alone: have the conversation summarised in words.`,
    { param: block.at ?? path },
  );
}

function saysNothing(value: unknown): boolean {
  return (
    value === null ||
    (isObject(value) && Object.keys(value).length > 0 && Object.values(value).every(saysNothing))
  );
}

/** The paths that are lost with a field: the field itself, or its members where the rest of the object was read. */
function* membersOf(path: string, name: string, value: unknown): Generator<string> {
  if (saysNothing(value) || isHarmless(name, value)) return;
  // Where even the type is left over, nothing of the object was read.
  if (!readInPart.has(name) || !isObject(value) || 'type' in value) return yield path;
  for (const [inner, member] of Object.entries(value)) yield* membersOf(`${path}.${inner}`, inner, member);
}

function holdsFields(block: Block): boolean {
  return (
    block.vendor !== undefined || (block.type === 'tool-result' && block.content.some(({ vendor }) => vendor))
  );
}

/**
 * Every vendor field of a request that does not belong to `protocol`, as a loss, except fields of the request itself
 * that were `said` in another way. Throws `unsupported_parameter` where state is missing that the vendor keeps.
 */
export function foreignFields(
  request: CanonicalRequest,
  protocol: string,
  said: ReadonlySet<string> = new Set(),
): Loss[] {
  const losses: Loss[] = [];
  const look = (thing: Sides | undefined, path: string, skipped: ReadonlySet<string> = new Set()): void => {
    if (!thing?.vendor) return;
    for (const [owner, fields] of Object.entries(thing.vendor)) {
      if (owner === protocol) continue;
      for (const [name, value] of Object.entries(fields)) {
        if (skipped.has(name)) continue;
        if (path === '') refuseUnknownWord(name, value, owner);
        for (const member of membersOf(path ? `${path}.${name}` : name, name, value)) {
          losses.push({ path: member, reason: `only ${owner} has it`, code: 'vendor' });
        }
        if (path === '' && kept.has(name) && value) {
          throw new GatewayError(
            'unsupported_parameter',
            `"${name}" is kept by the vendor of ${owner}, and this model is another's: send the content itself.`,
            { param: name },
          );
        }
      }
    }
  };
  look(request, '', said);
  look(request.toolChoice, 'toolChoice');
  if (request.format?.type === 'schema') look(request.format, 'format');
  for (const [index, tool] of request.tools?.entries() ?? []) look(tool, `tools[${index}]`);
  for (const [index, { role, vendor, blocks }] of request.turns.entries()) {
    const last = blocks.at(-1);
    if (last) refuseShortener(last, protocol, `turns[${index}]`);
    for (const [position, block] of blocks.entries())
      if (block.type === 'foreign') refuseUnknown(block, protocol, `turns[${index}].blocks[${position}]`);
    if (vendor) look({ vendor }, `turns[${index}]`, role === 'assistant' ? aboutThoughts : undefined);
    // Most turns of a long conversation have no such fields.
    if (!blocks.some(holdsFields)) continue;
    for (const [position, block] of blocks.entries()) {
      if (block.vendor)
        look(
          block,
          `turns[${index}].blocks[${position}]`,
          block.type === 'reasoning' ? aboutThoughts : undefined,
        );
      if (block.type !== 'tool-result') continue;
      for (const [part, content] of block.content.entries())
        if (content.vendor) look(content, `turns[${index}].blocks[${position}].content[${part}]`);
    }
  }
  return losses;
}
