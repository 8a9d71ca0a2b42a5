/**
 * Reads a client's request: checks it, its items and its tools against their schemas, checks rules that span
 * fields, and collects the facts that routing and billing need. An item of an unknown type passes unchecked:
 * only the provider can validate it. Writes parts of it again that a plugin changed, or a provider would
 * refuse.
 */
import {
  type Fee,
  type FeeName,
  type InputSize,
  type Match,
  type Mode,
  type Model,
  type Block,
  type CanonicalRequest,
  type PartPlace,
  type PartsSide,
} from '../../../core/index.ts';
import { measureParts } from '../../shared/openai/content.ts';
import { writesBriefly } from '../../shared/wire-kit/cache-writes.ts';
import { containsEnvelope } from '../../shared/wire-kit/envelope.ts';
import { isPriced, loseUnpriced } from '../../shared/wire-kit/hosted-tools.ts';
import { MediaMeter } from '../../shared/wire-kit/media-meter.ts';
import { readBase64 } from '../../shared/wire-kit/media.ts';
import { readRequestedModes } from '../../shared/wire-kit/modes.ts';
import { buildChoiceError } from '../../shared/wire-kit/offered-tools.ts';
import { readPreferences, refuseOtherModels } from '../../shared/wire-kit/provider-object.ts';
import { ReadCall, readLabels, type CallFacts } from '../../shared/wire-kit/read-call.ts';
import { readString, readList, readMember, readObject, readObjects } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields, splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { itemType, readCompaction, type CompactionFacts } from './compaction.ts';
import { encodeBlock, encodeParts, encodeTurn, isSpoken } from './conversation.ts';
import {
  nativeVendor,
  readFlags,
  isNativeSeal,
  findSealer,
  type Encoding,
  createEncoding,
} from './encoding.ts';
import { buildReferenceError, checkState, findExpansion, isReference, type Expansion } from './expansion.ts';
import { applyUpdates, hasNativeFields, removeNativeFields, updateType } from './native-fields.ts';
import { isGatewayId } from './reply-facts.ts';
import { decodeRequest, nameMessages } from './settings.ts';
import { isPreviewSearch, isSearch } from './tools.ts';
import * as Wire from './wire.ts';

/** A request body whose items and tools have been checked one by one. */
export interface ReadRequest {
  readonly wire: Wire.Request;
  readonly items: readonly ReadItem[];
  readonly tools: readonly ReadTool[] | undefined;
}

export type ReadItem =
  | { readonly kind: 'message'; readonly item: Wire.Message }
  | { readonly kind: 'function-call'; readonly item: Wire.FunctionCall }
  | { readonly kind: 'custom-call'; readonly item: Wire.CustomCall }
  | { readonly kind: 'call-output'; readonly item: Wire.CallOutput }
  | { readonly kind: 'reasoning'; readonly item: Wire.Reasoning }
  | { readonly kind: 'image-call'; readonly item: Wire.ImageCall }
  /** Tools that the client offers in the middle of a conversation, as Codex does. */
  | { readonly kind: 'more-tools'; readonly item: Fields; readonly tools: readonly ReadTool[] }
  /** Settings that the client changes there, as Codex does when it compacts. */
  | { readonly kind: 'update'; readonly item: Fields & Wire.Update }
  /** `unknownRole`: a message of an unknown role. Without it, another provider's answer is worthless. */
  | { readonly kind: 'other'; readonly item: Fields; readonly unknownRole?: true };

/** Whether an assistant message must have the id and status of its response. */
export type AssistantItems = 'strict' | 'lenient';

function readItems(input: Wire.Request['input'], assistantItems: AssistantItems): ReadItem[] {
  if (!Array.isArray(input)) return [];
  return input.map((value, index) => readItem(value, `input[${index}]`, assistantItems));
}

function readItem(value: unknown, at: string, assistantItems: AssistantItems): ReadItem {
  const given = checkWire(Wire.anyItem, value, at);
  switch (given.type ?? (given.role === undefined && given.id !== undefined ? 'item_reference' : 'message')) {
    case 'message':
      if (typeof given.role === 'string' && !Wire.knownRoles.has(given.role))
        return { kind: 'other', item: given, unknownRole: true };
      return { kind: 'message', item: readMessage(value, at, assistantItems) };
    case 'function_call':
      return { kind: 'function-call', item: checkWire(Wire.functionCall, value, at) };
    case 'custom_tool_call':
      return { kind: 'custom-call', item: checkWire(Wire.customCall, value, at) };
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const item = checkWire(Wire.callOutput, value, at);
      checkFiles(item.output, `${at}.output`);
      return { kind: 'call-output', item };
    }
    case 'reasoning':
      return readReasoning(value, at);
    case 'image_generation_call': {
      const item = checkWire(Wire.imageCall, value, at);
      return item.result ? { kind: 'image-call', item } : { kind: 'other', item };
    }
    case 'computer_call_output':
      checkWire(Wire.screenshot, value, at);
      return { kind: 'other', item: given };
    case 'additional_tools': {
      const { tools } = checkWire(Wire.moreTools, value, at);
      return { kind: 'more-tools', item: given, tools: tools.map(createToolReader(`${at}.tools`)) };
    }
    case itemType:
      return { kind: 'other', item: checkWire(Wire.compaction, value, at) };
    case updateType:
      return { kind: 'update', item: checkWire(Wire.update, value, at) };
    case 'item_reference':
      throw buildReferenceError(at, 'send the item itself');
    default:
      return { kind: 'other', item: given };
  }
}

/** Reasoning with parts of an unknown type passes as an unknown item. */
function readReasoning(value: unknown, at: string): ReadItem {
  const item = checkWire(Wire.reasoning, value, at);
  const isKnown = holdsOnly(item.summary, 'summary_text') && holdsOnly(item.content, 'reasoning_text');
  return isKnown ? { kind: 'reasoning', item } : { kind: 'other', item };
}

function holdsOnly(parts: Wire.Reasoning['summary'], known: string): boolean {
  return parts?.every(({ type = known }) => type === known) ?? true;
}

function readMessage(value: unknown, at: string, assistantItems: AssistantItems): Wire.Message {
  const message = checkWire(Wire.message, value, at);
  checkFiles(message.content, `${at}.content`);
  const [missing] = assistantItems === 'strict' ? listMissing(message) : [];
  if (missing) {
    const send = missing === 'id' ? 'the id from the response that held the message' : '"completed"';
    throw buildFieldError(`${at}.${missing}`, 'is missing', `${send}, or leave out "type"`);
  }
  return message;
}

/** The required fields that an assistant message lacks. Without `type`, or with plain text, none is. */
function listMissing({ role, type, content, id, status }: Wire.Message): ('id' | 'status')[] {
  if (role !== 'assistant' || type !== 'message' || typeof content === 'string') return [];
  return [...(id ? [] : ['id' as const]), ...(status ? [] : ['status' as const])];
}

/** Paths of the required fields that lenient reading fills in. */
function listDefaulted(items: readonly ReadItem[]): string[] {
  return items.flatMap((read, index) =>
    read.kind === 'message' ? listMissing(read.item).map((field) => `input[${index}].${field}`) : [],
  );
}

/** An image or a file needs one of several fields. */
function checkFiles(content: Wire.Content, at: string): void {
  if (typeof content === 'string') return;
  for (const [index, part] of content.entries()) {
    if (!Wire.isKnownPart(part)) continue;
    if (part.type === 'input_image' && !part.image_url && !part.file_id)
      throw buildFieldError(`${at}[${index}].image_url`, 'is missing', 'the URL of an image');
    if (part.type === 'input_file' && !part.file_data && !part.file_url && !part.file_id) {
      throw buildFieldError(
        `${at}[${index}].file_data`,
        'is missing',
        'the content of a file as "file_data", its address as "file_url" or its id as "file_id"',
      );
    }
  }
}

export type ReadTool = { readonly at: string } & (
  | { readonly kind: 'own'; readonly tool: Wire.OwnTool }
  | { readonly kind: 'hosted'; readonly tool: Fields }
);

const flatKinds = new Set(['function', 'custom']);

/** Whether the client runs the tool itself. A namespace that holds hosted tools is passed to the provider. */
function isOwn(tool: Fields): boolean {
  const { type, tools } = tool;
  if (type !== 'namespace' || !Array.isArray(tools))
    return type === 'namespace' || (typeof type === 'string' && flatKinds.has(type));
  return tools.every((each) => !isObject(each) || typeof each.type !== 'string' || flatKinds.has(each.type));
}

/** Returns all tools that a request offers: those of `tools`, then those of its items. */
function readTools(tools: Wire.Request['tools'], items: readonly ReadItem[]): ReadTool[] | undefined {
  const more = items.flatMap((read) => (read.kind === 'more-tools' ? read.tools : []));
  return tools || more.length > 0 ? [...(tools ?? []).map(createToolReader('tools')), ...more] : undefined;
}

function createToolReader(list: string): (tool: Fields, index: number) => ReadTool {
  return (tool, index) => {
    const at = `${list}[${index}]`;
    return isOwn(tool)
      ? { kind: 'own', tool: checkWire(Wire.ownTool, tool, at), at }
      : { kind: 'hosted', tool, at };
  };
}

const imageTool = 'image_generation';
/** Perplexity's other tools, which it charges by the call. */
const chargedTools: ReadonlySet<unknown> = splitNames(
  'fetch_url people_search finance_search image_search sandbox',
);
const codeTool = 'code_interpreter';
const defaultMemory = '1g';

export class ResponsesCall extends ReadCall {
  readonly settings: Wire.Request;
  readonly compaction: CompactionFacts;
  /** What the request referred to. Undefined: to nothing that the gateway keeps. */
  readonly expansion: Expansion | undefined;
  readonly #isNative: boolean;

  constructor(
    read: ReadRequest,
    text: string,
    { compaction, expansion }: Pick<ResponsesCall, 'compaction'> & Partial<Pick<ResponsesCall, 'expansion'>>,
  ) {
    // A compaction calls no tools.
    const facts = readFacts(compaction.ask ? { ...read, tools: undefined } : read, text);
    super(facts, () => decodeRequest(read));
    this.settings = read.wire;
    this.compaction = compaction;
    this.expansion = expansion;
    this.#isNative = hasNativeFields(read);
  }

  suits(model: Model): boolean {
    const { ids, compaction } = readFlags(model.capabilities);
    if (ids !== 'prefixed' || (this.#isNative && !compaction)) return false;
    return isPriced(model, 'web-search') || !this.fees.some(({ spared }) => spared);
  }
}

function readFacts(read: ReadRequest, text: string): CallFacts {
  const { wire, items, tools = [] } = read;
  return {
    model: wire.model,
    stream: wire.stream ?? false,
    outputLimit: wire.max_output_tokens ?? undefined,
    candidates: 1,
    effort: applyUpdates(wire).reasoning?.effort ?? undefined,
    framing: 'events',
    usageWanted: true,
    size: measureInput(read, text),
    fees: readFees(read),
    modes: [...readRequestedModes({ service_tier: wire.service_tier }), ...tools.flatMap(readModes)],
    preferences: readPreferences(wire.provider),
    carriesState:
      containsEnvelope(text) || movesNativeSeals(read) || items.some(({ item }) => isGatewayReasoning(item)),
    truncates: wire.truncation === 'auto',
    labels: readLabels(wire),
    defaulted: listDefaulted(items),
  };
}

/** The field of a tool that describes the container which runs its code or commands. */
const containerFields: ReadonlyMap<unknown, string> = new Map([
  [codeTool, 'container'],
  ['shell', 'environment'],
]);

function findContainer({
  kind,
  tool,
}: ReadTool): { readonly field: string; readonly value: Fields } | undefined {
  if (kind !== 'hosted') return undefined;
  const field = containerFields.get(tool.type);
  const value: unknown = field === undefined ? undefined : tool[field];
  return field !== undefined && isObject(value) ? { field, value } : undefined;
}

/** Returns the fee of a hosted tool. A container that the request names was charged when it was created. */
function readFeeName(read: ReadTool): FeeName | undefined {
  const { kind, tool } = read;
  if (kind !== 'hosted') return undefined;
  const { type } = tool;
  if (isPreviewSearch(tool)) return 'previewSearch';
  if (isSearch(tool) || type === 'x_search') return 'webSearch';
  if (type === 'file_search') return 'fileSearch';
  if (type === codeTool) return typeof tool.container === 'string' ? undefined : 'container';
  return type === 'shell' && findContainer(read)?.value.type === 'container_auto' ? 'container' : undefined;
}

/** Codex offers a search with every call. The gateway may drop it unless `tool_choice` names a tool. */
function readFees({ tools, wire }: ReadRequest): Fee[] {
  const chosen = isObject(wire.tool_choice);
  return (tools ?? []).flatMap((read): Fee[] => {
    const name = readFeeName(read);
    if (name === undefined) return [];
    return [
      {
        name,
        field: `${read.at}.type`,
        most: name === 'container' ? 1 : (wire.max_tool_calls ?? Infinity),
        spared: isSearch(read.tool) && !chosen,
      },
    ];
  });
}

/**
 * Returns the mode of a tool that changes the price. The image tool is another model; its tokens cost several
 * times as much. A container with more memory costs up to 64 times as much.
 */
function readModes(read: ReadTool): Mode[] {
  const { at } = read;
  const { type, search_type: speed } = read.tool;
  if (type === imageTool || chargedTools.has(type))
    return [{ name: String(type), field: `${at}.type`, silent: true }];
  // Perplexity's fast search has a fee of its own.
  if (isSearch(read.tool) && speed === 'fast')
    return [{ name: 'fast search', field: `${at}.search_type`, silent: true }];
  const container = findContainer(read);
  const memory = String(container?.value.memory_limit ?? defaultMemory);
  if (container === undefined || memory === defaultMemory) return [];
  return [{ name: `${codeTool} ${memory}`, field: `${at}.${container.field}.memory_limit`, silent: true }];
}

/** Whether no provider takes an item as it is: it holds state of another vendor, or an id of the gateway. */
function isStale(item: Fields): boolean {
  return containsEnvelope(JSON.stringify(item)) || isGatewayReasoning(item);
}

/** Whether the gateway made the reasoning item for another protocol. No provider of this one knows its id. */
function isGatewayReasoning({ type, encrypted_content: sealed, id }: Fields): boolean {
  return type === 'reasoning' && !sealed && typeof id === 'string' && isGatewayId(id);
}

/** Whether OpenAI's sealed reasoning would reach another vendor, because the client changed models. */
function movesNativeSeals({ wire, items }: ReadRequest): boolean {
  if (findSealer(wire.model) === nativeVendor) return false;
  return items.some((read) => read.kind === 'reasoning' && isNativeSeal(read.item.encrypted_content ?? ''));
}

export interface ReadingRules {
  readonly assistantItems: AssistantItems;
  /** Whether the gateway keeps responses. */
  readonly keeps: boolean;
}

/** Checks the items of a request that refers to kept ones, before these join them. */
export function checkOwnItems(input: unknown, { assistantItems }: ReadingRules): void {
  const own = checkWire(Wire.ownInput, { input }).input;
  if (!Array.isArray(own)) return;
  for (const [index, item] of own.entries())
    if (!isReference(item)) readItem(item, `input[${index}]`, assistantItems);
}

/** Throws `invalid_request` or `unsupported_parameter`, with the field in `param`. */
export function readRequest(
  body: unknown,
  text: string,
  { operation }: Match,
  { assistantItems, keeps }: ReadingRules,
): ResponsesCall {
  const wire = checkWire(Wire.request, body);
  const expansion = findExpansion(body);
  checkState(wire, operation, keeps);
  const choosing = choosingFields.find((field) => wire[field] !== undefined && wire[field] !== null);
  if (choosing) refuseOtherModels(choosing);
  const { input } = wire;
  const counts = operation === 'count';
  if ((input === undefined || input === null) && !counts)
    throw buildFieldError('input', 'is missing', 'a string, or an array of input items');
  if (Array.isArray(input) && input.length === 0 && !counts)
    throw buildFieldError('input', 'is an empty array', 'at least one item');
  const items = readItems(input, assistantItems);
  const read = { wire, items, tools: readTools(wire.tools, items) };
  checkToolChoice(read);
  checkFoundTools(items);
  return new ResponsesCall(read, text, { compaction: readCompaction(read, operation), expansion });
}

/** Perplexity's fields that choose another model, or add tools that are charged. */
const choosingFields = ['models', 'preset', 'profile'] as const;

const oneOfThem = 'the name of one of them';

function checkToolChoice({ wire: { tool_choice: choice }, tools = [] }: ReadRequest): void {
  if (choice === 'required' && tools.length === 0) throw buildChoiceError(choice);
  if (!isObject(choice)) return;
  const known = new Set(tools.flatMap(listNames));
  const references: unknown[] =
    choice.type === 'allowed_tools' && Array.isArray(choice.tools) ? choice.tools : [choice];
  for (const reference of references) {
    if (!isObject(reference) || (reference.type !== 'function' && reference.type !== 'custom')) continue;
    const { name } = reference;
    if (typeof name !== 'string')
      throw buildFieldError('tool_choice.name', 'is missing', 'the name of one of "tools"');
    if (!known.has(name))
      throw buildFieldError('tool_choice', `names "${name}", which is not in "tools"`, oneOfThem);
  }
}

/** Tools that a tool search found have no reservation, so the client cannot add a tool with a price there. */
function checkFoundTools(items: readonly ReadItem[]): void {
  for (const [index, { kind, item }] of items.entries()) {
    if (kind !== 'other' || item.type !== 'tool_search_output' || !Array.isArray(item.tools)) continue;
    for (const [place, tool] of item.tools.entries()) {
      if (!isObject(tool)) continue;
      const read: ReadTool = { kind: 'hosted', tool, at: `input[${index}].tools[${place}]` };
      if (readFeeName(read) === undefined && readModes(read).length === 0) continue;
      throw buildFieldError(`${read.at}.type`, 'has a price of its own', 'such a tool in "tools"');
    }
  }
}

function listNames(read: ReadTool): string[] {
  if (read.kind === 'hosted') return [];
  return read.tool.type === 'namespace' ? read.tool.tools.map(({ name }) => name) : [read.tool.name];
}

/** Hosted tools that the client runs. A shell with a container runs at the provider. */
const clientTools: ReadonlySet<unknown> = splitNames('computer computer_use_preview local_shell apply_patch');

function isRunByVendor(read: ReadTool): boolean {
  const { kind, tool } = read;
  if (kind !== 'hosted' || clientTools.has(tool.type) || tool.execution === 'client') return false;
  return tool.type !== 'shell' || findContainer(read) !== undefined;
}

/** Computes an upper bound of the input. Base64 media is counted as media, not as text. */
function measureInput({ wire, items, tools }: ReadRequest, text: string): InputSize {
  const meter = new MediaMeter();
  meter.fetched =
    (tools?.some(({ kind, tool }) => kind === 'hosted' && tool.type === 'mcp') ?? false) ||
    items.some(holdsUnknownInput);
  for (const read of items) {
    if (read.kind === 'image-call') meter.addImage(read.item.result?.length ?? 0);
    const screenshot = findScreenshot(read);
    if (screenshot) meter.addImage(readBase64(readString(screenshot.image_url) ?? '').length);
    measureParts(listContent(read).filter(Wire.isKnownPart), meter);
  }
  return {
    ...meter.measure(text),
    rounds: tools?.some(isRunByVendor) ? (wire.max_tool_calls ?? Infinity) : undefined,
    brief: writesBriefly(text),
  };
}

/** What the client's computer shows after a call of it. */
function findScreenshot({ kind, item }: ReadItem): Fields | undefined {
  const shows = kind === 'other' && item.type === 'computer_call_output';
  return shows && isObject(item.output) ? item.output : undefined;
}

/** Whether the input has parts of an unknown type. How many tokens a provider reads for them is unknown. */
function holdsUnknownInput(read: ReadItem): boolean {
  if (read.kind === 'other') return read.unknownRole === true;
  if (read.kind === 'message' && read.item.role === 'assistant') return false;
  return !listContent(read).every(Wire.isKnownPart);
}

function listContent(read: ReadItem): readonly Wire.AnyPart[] {
  if (read.kind !== 'message' && read.kind !== 'call-output') return [];
  const content = read.kind === 'message' ? read.item.content : read.item.output;
  return typeof content === 'string' ? [] : content;
}

export const parts: PartsSide = {
  list: 'input',
  start({ text, request, model, lose }) {
    const encoding = createEncoding(request, { model, lose, inPlace: true });
    const items = readList(readMember(JSON.parse(text), 'input'));
    return {
      isStale: (index) => isStale(readObject(items[index])),
      readsState: ({ vendor }) => vendor === encoding.owner,
      encodeTurn: (turn, index) => encodeTurn(turn, index, encoding),
      encodeBlock: (block, place) => encodePart(block, place, encoding),
      finish: (body) =>
        nameMessages(removeNativeFields(removeSearches(body, request, encoding), encoding), model),
    };
  },
};

function encodePart(block: Block, { turn, path }: PartPlace, encoding: Encoding): readonly unknown[] {
  const isInResult = path.includes('.content[');
  if (isSpoken(block)) return encodeParts(block, isInResult ? 'tool' : turn.role, path, encoding);
  return encodeBlock(block, path, encoding) ?? [];
}

/** Codex offers a search with every call. Without a price it is left out. */
function removeSearches(body: Fields, { tools = [] }: CanonicalRequest, encoding: Encoding): Fields {
  if (isPriced(encoding.model, 'web-search')) return body;
  const offered = readObjects(body.tools);
  const kept = offered.filter((tool) => !isSearch(tool));
  if (kept.length === offered.length) return body;
  for (const [index, tool] of tools.entries())
    if (tool.type === 'hosted' && tool.kind === 'web-search') loseUnpriced(tool, `tools[${index}]`, encoding);
  const { tools: _tools, tool_choice: choice, ...rest } = body;
  return kept.length > 0 ? { ...rest, tools: kept, tool_choice: choice } : rest;
}
