/**
 * Fields that only the client's own protocol has, in a request that goes to another: each is told as lost, member by
 * member, and the call is refused where an answer without it would be worthless.
 */
import { GatewayError, type Block, type CanonicalRequest, type Loss } from '../../core/index.ts';
import { isObject, type Sides } from './vendor-bag.ts';

/** Objects that their protocols read in part: what the bag holds of them is the rest. */
const readInPart: ReadonlySet<string> = new Set([
  'allowed_tools', 'cache_control', 'custom', 'file', 'function', 'functionCall', 'functionResponse', 'image_url', 'input_audio', 'item', 'namespace', 'output_config',
  'generationConfig.thinkingConfig', 'prompt_cache_breakpoint', 'reasoning', 'response_format', 'source', 'stream_options', 'text', 'thinking', 'toolConfig.functionCallingConfig',
]);

/** Fields of thoughts that only number and date them, or say their text again. */
const aboutThoughts: ReadonlySet<string> = new Set(['type', 'id', 'index', 'format', 'reasoning', 'reasoning_content', 'closed']);

/** State that a vendor keeps: without it a request means something else. */
const kept: ReadonlySet<string> = new Set(['cachedContent', 'container']);

/** Whether a field changes nothing when it is left out: padding against eavesdroppers, switches set to what holds elsewhere anyway, an empty list of citations. */
function isHarmless(name: string, value: unknown): boolean {
  if (name === 'annotations') return Array.isArray(value) && value.length === 0;
  if (name === 'citations') return isObject(value) && value['enabled'] === false;
  return name === 'include_obfuscation' || (value === false && (name === 'store' || name === 'thought'));
}

/** Asks for the conversation made short, for its vendor alone to read: Codex waits for that, and for no other answer. */
const shortener = 'compaction_trigger';

/** Throws where a block asks the vendor of its protocol for something that no other has an answer to. */
function refuseShortener(block: Block, protocol: string, path: string): void {
  if (block.type !== 'foreign' || block.protocol === protocol || !isObject(block.value) || block.value['type'] !== shortener) return;
  throw new GatewayError('unsupported_parameter', `A "${shortener}" is understood by models of ${block.protocol} alone: have the conversation summarised in words.`, { param: block.at ?? path });
}

function saysNothing(value: unknown): boolean {
  return value === null || (isObject(value) && Object.keys(value).length > 0 && Object.values(value).every(saysNothing));
}

/** The members of a field that are lost with it: itself, unless only a rest of it is here. */
function* membersOf(path: string, name: string, value: unknown): Generator<string> {
  if (saysNothing(value) || isHarmless(name, value)) return;
  // Where even the type is left over, nothing of the object was read.
  if (!readInPart.has(name) || !isObject(value) || 'type' in value) return yield path;
  for (const [inner, member] of Object.entries(value)) yield* membersOf(`${path}.${inner}`, inner, member);
}

function holdsFields(block: Block): boolean {
  return block.vendor !== undefined || (block.type === 'tool-result' && block.content.some(({ vendor }) => vendor));
}

/**
 * Every vendor field of a request that is not `protocol`'s own, as a loss, but for the fields of the request itself that
 * were `said` nevertheless. Throws `unsupported_parameter` where what is missing is state the vendor keeps.
 */
export function foreignFields(request: CanonicalRequest, protocol: string, said: ReadonlySet<string> = new Set()): Loss[] {
  const losses: Loss[] = [];
  const look = (thing: Sides | undefined, path: string, skipped: ReadonlySet<string> = new Set()): void => {
    if (!thing?.vendor) return;
    for (const [owner, fields] of Object.entries(thing.vendor)) {
      if (owner === protocol) continue;
      for (const [name, value] of Object.entries(fields)) {
        if (skipped.has(name)) continue;
        for (const member of membersOf(path ? `${path}.${name}` : name, name, value)) losses.push({ path: member, reason: `only ${owner} has it`, code: 'vendor' });
        if (path === '' && kept.has(name) && value) throw new GatewayError('unsupported_parameter', `"${name}" is kept by the vendor of ${owner}, and this model is another's: send the content itself.`, { param: name });
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
    if (vendor) look({ vendor }, `turns[${index}]`, role === 'assistant' ? aboutThoughts : undefined);
    // Most of a long conversation has none.
    if (!blocks.some(holdsFields)) continue;
    for (const [position, block] of blocks.entries()) {
      if (block.vendor) look(block, `turns[${index}].blocks[${position}]`, block.type === 'reasoning' ? aboutThoughts : undefined);
      if (block.type !== 'tool-result') continue;
      for (const [part, content] of block.content.entries()) if (content.vendor) look(content, `turns[${index}].blocks[${position}].content[${part}]`);
    }
  }
  return losses;
}
