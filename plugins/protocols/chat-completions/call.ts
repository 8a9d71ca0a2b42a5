/**
 * Reads a client's request: checks its shape and the rules that span fields, and collects the facts that
 * routing and billing need. Writes parts of it again that a plugin changed, or the model would refuse.
 */
import type { InputSize, Fee, Mode, Model, Block, PartPlace, PartsSide } from '../../../core/index.ts';
import { chatFlags, refuses } from '../../shared/openai/chat-flags.ts';
import { refusesChatTools } from '../../shared/openai/choose-wire.ts';
import { isMedium, measureParts } from '../../shared/openai/content.ts';
import { writesBriefly } from '../../shared/wire-kit/cache-writes.ts';
import { containsEnvelope } from '../../shared/wire-kit/envelope.ts';
import { hasJsonMode } from '../../shared/wire-kit/json-mode.ts';
import { MediaMeter } from '../../shared/wire-kit/media-meter.ts';
import { readRequestedModes } from '../../shared/wire-kit/modes.ts';
import { buildChoiceError } from '../../shared/wire-kit/offered-tools.ts';
import { refuseOtherModels, readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { ReadCall, readLabels, type CallFacts } from '../../shared/wire-kit/read-call.ts';
import { readList, readObjects } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields, trackReads } from '../../shared/wire-kit/vendor-bag.ts';
import { buildFieldError, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { encodeCall } from './calls.ts';
import { encodeParts } from './content.ts';
import { encodeThinking, encodeResult, encodeTurn } from './conversation.ts';
import { type Encoding, takesCallId, isReasoningOff, createEncoding } from './encoding.ts';
import {
  lacksReasoning,
  refusesExtensions,
  takesThinkingParts,
  fillReasoning,
  writeReasoning,
} from './reasoning.ts';
import { decodeReasoning, decodeRequest, readLimit } from './settings.ts';
import { decodeToolChoice, isSearch } from './tools.ts';
import * as Wire from './wire.ts';
import type { Request } from './wire.ts';

/** Throws `invalid_request` with the name of the field. */
function checkRequest(body: unknown): Wire.Request {
  const wire = checkWire(Wire.request, body);
  checkTogether(wire);
  for (const [index, message] of wire.messages.entries())
    if (Wire.isKnownMessage(message)) checkMessage(message, index);
  return wire;
}

const withLogprobs = '"logprobs": true with it, or leave it out';
const oneOfThem = 'the name of one of them';

function checkTogether(wire: Wire.Request): void {
  if (wire.stream_options && !wire.stream)
    throw buildFieldError('stream_options', 'is only for streams', '"stream": true with it, or leave it out');
  if (wire.top_logprobs && !wire.logprobs)
    throw buildFieldError('top_logprobs', 'needs log probabilities', withLogprobs);
  const { models } = wire;
  if (Array.isArray(models) && models.length > 0) refuseOtherModels('models');
  checkToolChoice(wire);
  const { function_call: call, functions = [] } = wire;
  if (typeof call === 'object' && call && !functions?.some(({ name }) => name === call.name))
    throw buildFieldError('function_call', `names "${call.name}", which is not in "functions"`, oneOfThem);
}

function checkToolChoice({ tool_choice: choice, tools }: Wire.Request): void {
  if ((choice === 'required' || choice === 'any') && !tools?.length) throw buildChoiceError(choice);
  const known = new Set(
    tools
      ?.filter(Wire.isOwnTool)
      .map((tool) => (tool.type === 'custom' ? tool.custom.name : tool.function.name)),
  );
  const missing = decodeToolChoice(choice)?.names?.find((name) => !known.has(name));
  if (missing !== undefined)
    throw buildFieldError('tool_choice', `names "${missing}", which is not in "tools"`, oneOfThem);
}

const answerWanted = 'a string or an array of parts; it may be null only beside tool calls or reasoning';

function checkMessage(message: Wire.Message, place: number): void {
  if (message.role === 'assistant' && !hasContent(message) && !hasReasoning(message))
    throw buildFieldError(`messages[${place}].content`, 'is missing', answerWanted);
  if (message.role !== 'user' || typeof message.content === 'string') return;
  for (const [index, part] of message.content.entries()) {
    if (!Wire.isKnownPart(part) || part.type !== 'file' || part.file.file_data || part.file.file_id) continue;
    const at = `messages[${place}].content[${index}].file`;
    throw buildFieldError(at, 'holds no file', 'its content as "file_data" or its id as "file_id"');
  }
}

/** Whether the message thinks and says nothing, as a reply does that was cut off while the model thought. */
function hasReasoningAlone(message: Wire.Message): boolean {
  return message.role === 'assistant' && !hasContent(message) && hasReasoning(message);
}

function hasReasoning(message: Wire.AssistantMessage): boolean {
  const { reasoning_content: content, reasoning, reasoning_details: details } = message;
  return [content, reasoning, details].some((value) => value !== undefined && value !== null);
}

function hasContent(message: Wire.AssistantMessage): boolean {
  const { content, refusal, tool_calls: calls, function_call: call, audio, images } = message;
  return [content, refusal, calls?.[0], call, audio, images].some(
    (value) => value !== undefined && value !== null,
  );
}

/** The most tokens of an audio answer. OpenAI stores the audio, and later requests hold only its id. */
const mostAudioTokens = 16_384;

/** The most tokens with which providers explain tools to a model, as Groq does to Llama. */
const tokensOfTools = 1000;

/** Computes an upper bound of the input. Base64 media is counted as media, not as text. */
function measureInput(
  { messages, tools }: Pick<Request, 'messages' | 'tools'>,
  known: readonly Wire.Message[],
  { text, rounds }: { readonly text: string; readonly rounds: number | undefined },
): InputSize {
  const meter = new MediaMeter();
  meter.fetched = known.length < messages.length;
  for (const message of known) {
    if (hasUnknownPart(message)) meter.fetched = true;
    if (message.role === 'assistant' && message.audio) meter.addStored(mostAudioTokens);
    measureParts(listParts(message), meter);
  }
  const added = tools?.length ? tokensOfTools : undefined;
  return { ...meter.measure(text), added, rounds, brief: writesBriefly(text) };
}

/** Whether a message has parts of unknown types. How many tokens a provider reads for them is unknown. */
function hasUnknownPart({ role, content }: Wire.Message): boolean {
  return role !== 'assistant' && Array.isArray(content) && !content.every(Wire.isKnownPart);
}

/** The parts of a message that may be media. */
function listParts(message: Wire.Message): readonly Fields[] {
  if (message.role === 'assistant') return message.images ?? [];
  return Array.isArray(message.content) ? message.content.filter(Wire.isKnownPart) : [];
}

/** The names of the output limit, the old one first. */
export const limitFields = ['max_tokens', 'max_completion_tokens'] as const;
type LimitField = (typeof limitFields)[number];

export class ChatCall extends ReadCall {
  /** The format of audio output, if the client requested audio. */
  readonly soundFormat: string | undefined;
  /** The output limits in the body, by field. */
  readonly limits: Readonly<Record<LimitField, number | undefined>>;
  /** Whether the body has the gateway's own field `provider`. */
  readonly statesProvider: boolean;
  readonly #wire: Wire.Request;

  constructor(wire: Wire.Request, text: string) {
    const known = wire.messages.filter(Wire.isKnownMessage);
    super(readFacts(wire, known, text), () => decodeRequest(wire, text));
    const { max_tokens: older, max_completion_tokens: current } = wire;
    this.limits = { max_tokens: older ?? undefined, max_completion_tokens: current ?? undefined };
    this.soundFormat = wire.audio?.format;
    this.statesProvider = wire.provider !== undefined;
    this.#wire = wire;
  }

  suits(model: Model): boolean {
    const { messages } = this.#wire;
    const { thinkingMode } = chatFlags(model.capabilities);
    return (
      this.suitsSettings(model) &&
      (!thinkingMode || isReasoningOff(this.#wire) || !lacksReasoning(messages)) &&
      messages.every((message) => suitsMessage(message, model))
    );
  }

  /** Whether the model takes the fields besides the conversation. */
  suitsSettings(model: Model): boolean {
    const wire = this.#wire;
    const { shortForms, fields } = chatFlags(model.capabilities);
    return (
      supportsFormat(wire, model) &&
      (shortForms || !usesShortForms(wire)) &&
      !isMisread(wire, model) &&
      // Providers refuse their fields even if they are null. Retargeting handles `stream_options`.
      !Object.keys(fields).some((field) => field !== 'stream_options' && field in wire)
    );
  }

  /** Whether a message cannot go to the model as it is. */
  isStale(index: number, model: Model): boolean {
    const message = this.#wire.messages[index];
    if (!message) return false;
    return !suitsMessage(message, model) || (this.carriesState && containsEnvelope(JSON.stringify(message)));
  }

  needsOtherWire(model: Model): boolean {
    const { tools, functions } = this.#wire;
    if (!tools?.length && !functions?.length) return false;
    return refusesChatTools(model, decodeReasoning(trackReads(this.#wire)));
  }
}

/** Whether the call turns reasoning off by a field that the model ignores: less is reserved for it. */
function isMisread(wire: Wire.Request, { capabilities }: Model): boolean {
  if (capabilities.reasoning.style !== 'toggle' || !chatFlags(capabilities).enableThinking) return false;
  const effort = readEffort(wire);
  return (effort === 'none' || effort === 0) && wire.enable_thinking !== false;
}

/** Alibaba's models turn reasoning off by a field of their own. */
function readEffort(wire: Wire.Request): string | number | undefined {
  if (wire.enable_thinking === false) return 'none';
  return wire.reasoning_effort ?? wire.reasoning?.effort ?? wire.reasoning?.max_tokens ?? undefined;
}

function readFacts(wire: Wire.Request, known: readonly Wire.Message[], text: string): CallFacts {
  const modes = readModes(wire);
  const fees = readFees(wire);
  const isRun = fees.length > 0 || modes.some(({ silent }) => silent);
  return {
    model: wire.model,
    stream: wire.stream ?? false,
    outputLimit: readLimit(wire),
    candidates: wire.n ?? 1,
    effort: readEffort(wire),
    framing: 'events',
    usageWanted: wire.stream_options?.include_usage ?? false,
    size: measureInput(wire, known, { text, rounds: isRun ? Infinity : undefined }),
    fees,
    modes,
    preferences: readPreferences(wire.provider),
    carriesState: containsEnvelope(text),
    labels: readLabels(wire),
  };
}

const noModes: readonly Mode[] = [];

function readModes(wire: Wire.Request): readonly Mode[] {
  const { service_tier: tier, tools, plugins, search_parameters: search } = wire;
  // Most calls have none of these.
  if (tier === undefined && tools === undefined && plugins === undefined && search === undefined)
    return noModes;
  return [
    ...readRequestedModes({ service_tier: tier }),
    ...(tools ?? []).flatMap(readToolModes),
    ...readPluginModes(wire),
    ...readLiveSearch(wire),
  ];
}

function supportsFormat({ response_format: format, tools }: Wire.Request, model: Model): boolean {
  if (!format || format.type === 'text' || model.capabilities.structuredOutput) return true;
  return format.type === 'json_object' && hasJsonMode(model, Boolean(tools?.length));
}

function suitsMessage(message: Wire.AnyMessage, model: Model): boolean {
  const { callIds, fields, shortForms } = chatFlags(model.capabilities);
  const isRefused = (field: string): boolean =>
    refuses(model, field) && !(field === 'name' && message.role === 'tool');
  if (Object.keys(fields).length > 0 && Object.keys(message).some(isRefused)) return false;
  if (!Wire.isKnownMessage(message)) return true;
  return (
    (!refusesExtensions(model) || !isExtended(message)) &&
    (takesThinkingParts(model) || !holdsThoughts(message)) &&
    (shortForms || !isShortMessage(message)) &&
    !holdsResultMedia(message) &&
    !hasReasoningAlone(message) &&
    (callIds === 'any' || listCallIds(message).every((id) => takesCallId(id, model.capabilities)))
  );
}

function readFees({ web_search_options: options, tools }: Wire.Request): Fee[] {
  const place = tools?.findIndex(isSearch) ?? -1;
  if (!options && place < 0) return [];
  return [
    { name: 'webSearch', field: options ? 'web_search_options' : `tools[${place}].type`, most: Infinity },
  ];
}

/** Other hosted tools are charged separately, or are other models. OpenRouter's date tool is free. */
function readToolModes(tool: Wire.Tool, place: number): Mode[] {
  if (Wire.isOwnTool(tool) || isSearch(tool) || tool.type === 'openrouter:datetime') return [];
  return [{ name: tool.type ?? '', field: `tools[${place}].type`, silent: true }];
}

const freePlugins: ReadonlySet<unknown> = new Set(['response-healing', 'context-compression']);
const freeEngines: ReadonlySet<unknown> = new Set(['pdf-text', 'cloudflare-ai', 'native']);

/** xAI's live search, which is billed by the number of sources. */
function readLiveSearch({ search_parameters: search }: Wire.Request): Mode[] {
  const isOn = isObject(search) && search.mode !== 'off';
  return isOn ? [{ name: 'live search', field: 'search_parameters', silent: true }] : [];
}

/** OpenRouter bills search plugins by result and document plugins by page; no price list has these. */
function readPluginModes({ plugins }: Wire.Request): Mode[] {
  return readList(plugins).flatMap((plugin, place): Mode[] => {
    if (!isObject(plugin) || plugin.enabled === false || freePlugins.has(plugin.id)) return [];
    const { id, pdf } = plugin;
    if (id === 'file-parser' && isObject(pdf) && freeEngines.has(pdf.engine)) return [];
    return [{ name: `plugin ${String(id)}`, field: `plugins[${place}].id`, silent: true }];
  });
}

function listCallIds(message: Wire.Message): readonly string[] {
  if (message.role === 'tool') return [message.tool_call_id];
  return message.role === 'assistant'
    ? (message.tool_calls?.filter(Wire.isKnownCall).map(({ id }) => id) ?? [])
    : [];
}

/** Whether a tool's result holds media, which the encoder moves to a user message. */
function holdsResultMedia(message: Wire.Message): boolean {
  return message.role === 'tool' && listParts(message).some(isMedium);
}

function holdsThoughts({ role, content }: Wire.Message): boolean {
  return role === 'assistant' && Array.isArray(content) && content.some(({ type }) => type === 'thinking');
}

/** Whether an assistant message has what OpenAI refuses: reasoning, images, or an empty `tool_calls`. */
function isExtended(message: Wire.Message): boolean {
  if (message.role !== 'assistant') return false;
  return (
    message.tool_calls?.length === 0 ||
    Boolean(message.reasoning_content ?? message.reasoning ?? message.reasoning_details ?? message.images)
  );
}

/** Throws `invalid_request` with the name of the field. */
export function readRequest(body: unknown, text: string): ChatCall {
  return new ChatCall(checkRequest(body), text);
}

/** Whether its tools use short forms that only Mistral accepts. */
function usesShortForms({ tools, tool_choice: choice }: Wire.Request): boolean {
  return choice === 'any' || (tools?.some(({ type }) => type === undefined) ?? false);
}

/** The same of a message. */
function isShortMessage(message: Wire.Message): boolean {
  const { content } = message;
  if (Array.isArray(content) && (content.length === 0 || content.some(isShortPart))) return true;
  return (
    message.role === 'assistant' &&
    (message.tool_calls?.some((call) => Wire.isKnownCall(call) && call.type === undefined) ?? false)
  );
}

function isShortPart(part: Wire.AnyPart): boolean {
  if (part.type === 'video_url') return false;
  return Wire.isKnownPart(part) && isMedium(part) && typeof part[part.type] === 'string';
}

export const parts: PartsSide = {
  list: 'messages',
  start({ call, text, request, model, lose }) {
    const own = call instanceof ChatCall ? call : readRequest(JSON.parse(text), text);
    const encoding = createEncoding(request, { model, lose, inPlace: true });
    return {
      refitsSettings: !own.suitsSettings(model),
      isStale: (index) => own.isStale(index, model),
      readsState: ({ vendor }) => vendor === encoding.owner || vendor === '',
      encodeTurn: (turn, index) => encodeTurn(turn, index, encoding),
      encodeBlock: (block, place) => encodeBlock(block, place, encoding),
      finish(body) {
        const messages = readObjects(body.messages);
        const thinks = chatFlags(model.capabilities).thinkingMode && !isReasoningOff(body);
        if (!thinks || !lacksReasoning(messages)) return body;
        lose(
          'turns',
          'sent with blank reasoning: the model refuses earlier tool calls without their reasoning',
          'approximated',
        );
        return { ...body, messages: fillReasoning(messages) };
      },
    };
  },
};

function encodeBlock(block: Block, { turn, path }: PartPlace, encoding: Encoding): readonly unknown[] {
  switch (block.type) {
    case 'text':
    case 'media':
    case 'refusal':
      return encodeParts(block, path, encoding);
    case 'reasoning':
      return block.at?.includes('.content[')
        ? [encodeThinking(block)]
        : readObjects(writeReasoning([block]).reasoning_details);
    case 'tool-call':
      return [
        block.at?.endsWith('.function_call')
          ? { name: block.name, arguments: block.arguments }
          : encodeCall({ block, path }, encoding),
      ];
    case 'tool-result':
      return listMessages(encodeResult(turn, { block, path }, encoding, 0));
    case 'foreign':
      return [block.value];
  }
}

/** A result with media needs two messages, so that its turn has to be encoded whole. */
function listMessages({ message, media }: ReturnType<typeof encodeResult>): Fields[] {
  return media.length > 0 ? [] : [message];
}
