/**
 * Reports each field of a request that exists only in the client's protocol when the provider speaks another
 * one, member by member. Refuses the call if an answer without the field would be worthless.
 */
import type { Block, CanonicalRequest, HostedTool, Loss } from '../../../core/index.ts';
import { refuse, refuseUnknown } from './losses.ts';
import { readMember } from './values.ts';
import { isObject, type Fields, type Sides } from './vendor-bag.ts';

/** What encoders of other protocols have to know of a protocol, to report what only it has. */
interface ProtocolFacts {
  /** Objects of which it decodes only some members. The others are in the vendor bag. */
  readonly partly: ReadonlySet<string>;
  /** Lists and maps that mean nothing while they are empty. */
  readonly collections?: ReadonlySet<string>;
  /** Switches that are off on every other wire. */
  readonly switches?: ReadonlySet<string>;
  /** Whether leaving out another field with this value changes nothing. */
  readonly isHarmless?: (name: string, value: unknown) => boolean;
  /** Fields of reasoning that carry only numbers or dates, or repeat its text. */
  readonly reasoningDetails?: ReadonlySet<string>;
  /** State that the vendor keeps. Without it the request would mean something else. */
  readonly state?: ReadonlySet<string>;
  /** Paths of single words that decide what an answer is, with the words that every protocol knows. */
  readonly decisive?: Readonly<Record<string, readonly string[]>>;
  /**
   * A field, or a type of item, that asks for a short conversation which only its vendor can read. Its
   * clients cannot use any other answer.
   */
  readonly compactionField?: string;
  readonly compactionItem?: string;
  /** Whether an answer without this hosted tool would be worthless. */
  readonly isIndispensable?: (tool: HostedTool) => boolean;
  /** The type of its hosted tool that makes pictures, and the field by which a request demands it. */
  readonly painter?: { readonly type: string; readonly choice: string };
  /** The field that limits the calls of all hosted tools together. */
  readonly callLimit?: string;
  /** The options of a hosted tool, if they are not its members. */
  readonly readOptions?: (tool: Fields) => Fields;
}

const facts = new Map<string, ProtocolFacts>();

export function describeProtocol(name: string, known: ProtocolFacts): void {
  facts.set(name, known);
}

export function getFacts(protocol: string): Partial<ProtocolFacts> {
  return facts.get(protocol) ?? {};
}

function isHarmless(owner: string, name: string, value: unknown): boolean {
  const { collections, switches, isHarmless: isOther } = getFacts(owner);
  if (collections?.has(name)) return Object.keys(Object(value)).length === 0;
  return (value === false && switches?.has(name)) || isOther?.(name, value) || false;
}

/** The path of an unknown word in a request's field, without which an answer would be worthless. */
function findDecisiveWord(owner: string, name: string, value: unknown): string | undefined {
  for (const [path, usual] of Object.entries(getFacts(owner).decisive ?? {})) {
    if (path !== name && !path.startsWith(`${name}.`)) continue;
    const steps = path
      .slice(name.length + 1)
      .split('.')
      .filter(Boolean);
    const wire = steps.reduce(readMember, value);
    return typeof wire === 'string' && !usual.includes(wire) ? path : undefined;
  }
  return undefined;
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

function isDetail(name: string, owner: string): boolean {
  return getFacts(owner).reasoningDetails?.has(name) ?? false;
}

/** The vendor bags that do not belong to `protocol`, as losses. */
class ForeignFields {
  readonly losses: Loss[] = [];
  readonly #protocol: string;

  constructor(protocol: string) {
    this.#protocol = protocol;
  }

  add({ vendor }: Sides, path: string, isSkipped?: (name: string, owner: string) => boolean): void {
    if (!vendor) return;
    for (const [owner, fields] of Object.entries(vendor)) {
      if (owner === this.#protocol) continue;
      for (const [name, value] of Object.entries(fields))
        if (!isSkipped?.(name, owner)) this.#addField(owner, path ? `${path}.${name}` : name, name, value);
    }
  }

  /** Adds a field, or its members if the rest of the object was decoded. */
  #addField(owner: string, path: string, name: string, value: unknown): void {
    if (isEmpty(value) || isHarmless(owner, name, value)) return;
    // If the bag has even the type, nothing of the object was decoded.
    if (!getFacts(owner).partly?.has(name) || !isObject(value) || 'type' in value)
      this.losses.push({ path, reason: `only ${owner} has it`, code: 'vendor' });
    else
      for (const [inner, member] of Object.entries(value))
        this.#addField(owner, `${path}.${inner}`, inner, member);
  }

  addBlock(block: Block, path: string): void {
    refuseUnknown(block, this.#protocol, path);
    this.add(block, path, block.type === 'reasoning' ? isDetail : undefined);
    if (block.type === 'tool-result')
      for (const [index, part] of block.content.entries()) this.add(part, `${path}.content[${index}]`);
  }
}

/** Refuses a field of the request itself that decides what an answer is, and that only its vendor knows. */
function refuseDecisiveField(owner: string, name: string, value: unknown): void {
  const word = findDecisiveWord(owner, name, value);
  const { compactionField, state } = getFacts(owner);
  if (word !== undefined)
    refuse(
      word,
      `"${word}" has a value that only vendors of ${owner} may know, and the provider of this model is ` +
        'reached by another protocol: send one that is documented.',
    );
  if (name === compactionField && value) refuseCompaction(owner, name, name);
  if (state?.has(name) && value)
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
  foreign.add(request, '', (name) => expressed.has(name));
  if (toolChoice) foreign.add(toolChoice, 'toolChoice');
  if (format?.type === 'schema') foreign.add(format, 'format');
  for (const [index, tool] of tools.entries()) foreign.add(tool, `tools[${index}]`);
  for (const [index, turn] of turns.entries()) {
    const path = `turns[${index}]`;
    const last = turn.blocks.at(-1);
    // Asks for something that only the vendor of its protocol can answer.
    if (last?.type === 'foreign' && last.protocol !== protocol) {
      const { compactionItem } = getFacts(last.protocol);
      if (compactionItem !== undefined && last.value.type === compactionItem)
        refuseCompaction(last.protocol, compactionItem, last.at ?? path);
    }
    foreign.add(turn, path, turn.role === 'assistant' ? isDetail : undefined);
    // Most blocks of a long conversation have nothing to look at.
    for (const [position, block] of turn.blocks.entries())
      if (block.type === 'foreign' || hasFields(block))
        foreign.addBlock(block, `${path}.blocks[${position}]`);
  }
  return foreign.losses;
}
