/**
 * Reports each field of a request that exists only in the client's protocol when the provider speaks another
 * one, member by member. Refuses the call if an answer without the field would be worthless.
 */
import type { Block, CanonicalRequest, Loss } from '../../../core/index.ts';
import { refuse, refuseUnknown } from './losses.ts';
import { readMember } from './values.ts';
import { isObject, type Sides, splitNames } from './vendor-bag.ts';

/** Objects of which a protocol decodes only some members. The others are in the vendor bag. */
const readInPart = splitNames(`
  allowed_tools cache_control custom file function functionCall functionResponse image_url input_audio
  item namespace output_config generationConfig.thinkingConfig prompt_cache_breakpoint reasoning
  response_format source stream_options text thinking toolConfig.functionCallingConfig
`);

/** Fields of reasoning that carry only numbers or dates, or repeat its text. */
const reasoningDetails = splitNames('type id index format reasoning reasoning_content closed');

/** State that the vendor keeps. Without it the request would mean something else. */
const vendorState: ReadonlySet<string> = new Set(['cachedContent', 'container']);

/** Switches that are off on every other wire. */
const switches = splitNames('store thought generationConfig.responseLogprobs');

/** Lists and maps that mean nothing while they are empty. */
const collections = splitNames('annotations context_management labels logit_bias mcp_servers safetySettings');

/**
 * Whether leaving a field out changes nothing: padding against eavesdroppers, a switch set to what other
 * protocols do anyway.
 */
function isHarmless(name: string, value: unknown): boolean {
  if (collections.has(name)) return Object.keys(Object(value)).length === 0;
  if (name === 'citations') return isObject(value) && value.enabled === false;
  return name === 'include_obfuscation' || (value === false && switches.has(name));
}

/**
 * Ask for a short conversation that only its vendor can read: OpenAI's item and Anthropic's field. Their
 * clients cannot use any other answer.
 */
const compactionItem = 'compaction_trigger';
const compactionField = 'compaction';

/** Fields that decide what an answer is, and whose value is a single word. */
const decisiveWords: ReadonlySet<string> = new Set(['truncation', 'tool_choice', 'function_call']);
const usualWords: ReadonlySet<string> = new Set(['auto', 'disabled', 'none', 'required']);
/** The same for objects: the field, and the path of the member with their kind. */
const decisiveKinds = [
  ['response_format', 'type'],
  ['text', 'format', 'type'],
  ['output_config', 'format', 'type'],
  ['toolConfig.functionCallingConfig', 'mode'],
] as const;

/** The path of an unknown word in a request's field, without which an answer would be worthless. */
function findDecisiveWord(name: string, value: unknown): string | undefined {
  if (decisiveWords.has(name)) return typeof value === 'string' && !usualWords.has(value) ? name : undefined;
  const path = decisiveKinds.find(([field]) => field === name);
  if (!path) return undefined;
  const word = path.slice(1).reduce(readMember, value);
  return typeof word === 'string' ? path.join('.') : undefined;
}

function refuseCompaction(owner: string, name: string, param: string): never {
  return refuse(param, `Only models of ${owner} understand "${name}": ask for a summary in words instead.`);
}

function isEmpty(value: unknown): boolean {
  return (
    value === null ||
    (isObject(value) && Object.keys(value).length > 0 && Object.values(value).every(isEmpty))
  );
}

const none: ReadonlySet<string> = new Set();

/** The vendor bags that do not belong to `protocol`, as losses. */
class ForeignFields {
  readonly losses: Loss[] = [];
  readonly #protocol: string;

  constructor(protocol: string) {
    this.#protocol = protocol;
  }

  add({ vendor }: Sides, path: string, skipped = none): void {
    if (!vendor) return;
    for (const [owner, fields] of Object.entries(vendor)) {
      if (owner === this.#protocol) continue;
      for (const [name, value] of Object.entries(fields))
        if (!skipped.has(name)) this.#addField(owner, path ? `${path}.${name}` : name, name, value);
    }
  }

  /** Adds a field, or its members if the rest of the object was decoded. */
  #addField(owner: string, path: string, name: string, value: unknown): void {
    if (isEmpty(value) || isHarmless(name, value)) return;
    // If the bag has even the type, nothing of the object was decoded.
    if (!readInPart.has(name) || !isObject(value) || 'type' in value)
      this.losses.push({ path, reason: `only ${owner} has it`, code: 'vendor' });
    else
      for (const [inner, member] of Object.entries(value))
        this.#addField(owner, `${path}.${inner}`, inner, member);
  }

  addBlock(block: Block, path: string): void {
    refuseUnknown(block, this.#protocol, path);
    this.add(block, path, block.type === 'reasoning' ? reasoningDetails : undefined);
    if (block.type === 'tool-result')
      for (const [index, part] of block.content.entries()) this.add(part, `${path}.content[${index}]`);
  }
}

/** Refuses a field of the request itself that decides what an answer is, and that only its vendor knows. */
function refuseDecisiveField(owner: string, name: string, value: unknown): void {
  const word = findDecisiveWord(name, value);
  if (word !== undefined)
    refuse(
      word,
      `"${word}" has a value that only vendors of ${owner} may know, and the provider of this model is ` +
        'reached by another protocol: send one that is documented.',
    );
  if (name === compactionField && value) refuseCompaction(owner, name, name);
  if (vendorState.has(name) && value)
    refuse(
      name,
      `The vendor of ${owner} keeps "${name}", and this model belongs to another: send the content itself.`,
    );
}

function hasFields(block: Block): boolean {
  return (
    block.vendor !== undefined || (block.type === 'tool-result' && block.content.some(({ vendor }) => vendor))
  );
}

/**
 * Every vendor field of a request that does not belong to `protocol`, as a loss, except the request's own
 * fields in `expressed`, which the encoder writes in another way. Throws `unsupported_parameter` if the
 * vendor keeps what is missing.
 */
export function listForeignFields(
  request: CanonicalRequest,
  protocol: string,
  expressed: ReadonlySet<string> = none,
): Loss[] {
  const { toolChoice, format, tools = [], turns } = request;
  const foreign = new ForeignFields(protocol);
  for (const [owner, fields] of Object.entries(request.vendor ?? {}))
    for (const [name, value] of Object.entries(fields))
      if (owner !== protocol && !expressed.has(name)) refuseDecisiveField(owner, name, value);
  foreign.add(request, '', expressed);
  if (toolChoice) foreign.add(toolChoice, 'toolChoice');
  if (format?.type === 'schema') foreign.add(format, 'format');
  for (const [index, tool] of tools.entries()) foreign.add(tool, `tools[${index}]`);
  for (const [index, turn] of turns.entries()) {
    const path = `turns[${index}]`;
    const last = turn.blocks.at(-1);
    // Asks for something that only the vendor of its protocol can answer.
    if (last?.type === 'foreign' && last.protocol !== protocol && last.value.type === compactionItem)
      refuseCompaction(last.protocol, compactionItem, last.at ?? path);
    foreign.add(turn, path, turn.role === 'assistant' ? reasoningDetails : undefined);
    // Most blocks of a long conversation have nothing to look at.
    for (const [position, block] of turn.blocks.entries())
      if (block.type === 'foreign' || hasFields(block))
        foreign.addBlock(block, `${path}.blocks[${position}]`);
  }
  return foreign.losses;
}
