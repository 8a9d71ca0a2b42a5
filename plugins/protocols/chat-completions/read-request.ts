/**
 * Reads a client's request: its shape by the wire schema, then what takes two fields to see, then the facts the
 * gateway decides by. The canonical form is made when first asked for, since most calls go on verbatim.
 */
import type {
  CanonicalRequest,
  ClientCall,
  Fee,
  InputSize,
  Mode,
  Model,
  Preferences,
} from '../../../core/index.ts';
import { chatFlags } from '../../shared/wire-kit/chat-flags.ts';
import { refusesChatTools } from '../../shared/wire-kit/choose-openai-wire.ts';
import { holdsEnvelope } from '../../shared/wire-kit/envelope.ts';
import { hasJsonMode } from '../../shared/wire-kit/json-mode.ts';
import { base64Length } from '../../shared/wire-kit/media.ts';
import { askedModes } from '../../shared/wire-kit/modes.ts';
import { preferencesOf, refuseOtherModels } from '../../shared/wire-kit/provider-object.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { badField, checkWire } from '../../shared/wire-kit/wire-check.ts';
import { decodeReasoning, decodeRequest, isSearch, leastLimit, referredName } from './decode-request.ts';
import { refuses } from './fields.ts';
import { isThinkingOff, lacksThoughts, refusesExtensions, takesThinkingParts } from './reasoning.ts';
import { usesShortForms } from './short-forms.ts';
import { takesCallId } from './tool-names.ts';
import {
  isKnownCall,
  isKnownMessage,
  isKnownPart,
  isNamedChoice,
  isOwnTool,
  requestWire,
  type WireAnyMessage,
  type WireMessage,
  type WirePart,
  type WireRequest,
  type WireTool,
} from './wire.ts';

/** The two names of the output limit, the former one first. */
export const limitFields = ['max_tokens', 'max_completion_tokens'] as const;
type LimitField = (typeof limitFields)[number];

/** A call that came in this protocol; `instanceof` tells the upstream side that no foreign request was made to fit. */
export class ChatCall implements ClientCall {
  readonly model: string;
  readonly stream: boolean;
  readonly outputLimit: number | undefined;
  readonly candidates: number;
  readonly effort: string | number | undefined;
  readonly usageWanted: boolean;
  readonly size: InputSize;
  readonly fees: readonly Fee[];
  readonly preferences: Preferences;
  readonly carriesState: boolean;
  readonly framing = 'events';
  readonly modes: readonly Mode[];
  /** How sound is wanted, where it is. */
  readonly soundFormat: string | undefined;
  /** The output limits as they stand in the body, by their names there. */
  readonly limits: Readonly<Record<LimitField, number | undefined>>;
  /** Whether assistants' messages hold thoughts or pictures, for which OpenAI itself has no field on this wire, or an empty list of calls, which it refuses. */
  readonly #extended: boolean;
  readonly #thinksInContent: boolean;
  /** Whether tools gave pictures, which their messages cannot hold: they are shown by the user. */
  readonly #showsResults: boolean;
  /** Whether it holds what Mistral alone takes in a shorter form. */
  readonly #short: boolean;
  readonly #wire: WireRequest;
  readonly #text: string;
  #request: CanonicalRequest | undefined;

  constructor(wire: WireRequest, text: string) {
    this.model = wire.model;
    this.stream = wire.stream ?? false;
    this.limits = {
      max_tokens: wire.max_tokens ?? undefined,
      max_completion_tokens: wire.max_completion_tokens ?? undefined,
    };
    this.outputLimit = leastLimit(wire);
    this.candidates = wire.n ?? 1;
    this.effort = wire.reasoning_effort ?? wire.reasoning?.effort ?? wire.reasoning?.max_tokens ?? undefined;
    this.soundFormat = wire.audio?.format;
    this.usageWanted = wire.stream_options?.include_usage ?? false;
    this.modes = [
      ...askedModes({ service_tier: wire.service_tier }),
      ...(wire.tools ?? []).flatMap(toolModes),
      ...pluginModes(wire),
      ...liveSearch(wire),
    ];
    this.fees = feesOf(wire);
    const isRun = this.fees.length > 0 || this.modes.some(({ untold }) => untold);
    this.size = sizeOf(wire.messages, text, isRun ? Infinity : undefined);
    this.preferences = preferencesOf(wire.provider);
    this.carriesState = holdsEnvelope(text);
    const known = wire.messages.filter(isKnownMessage);
    this.#extended = known.some(isExtended);
    this.#thinksInContent = known.some(
      ({ role, content }) =>
        role === 'assistant' && Array.isArray(content) && content.some(({ type }) => type === 'thinking'),
    );
    this.#short = usesShortForms(wire);
    this.#showsResults = known.some((message) => message.role === 'tool' && mediaOf(message).length > 0);
    this.#wire = wire;
    this.#text = text;
  }

  suits(model: Model): boolean {
    const flags = chatFlags(model.capabilities);
    if (!keepsFormat(this.#wire, model)) return false;
    if (this.#extended && refusesExtensions(model)) return false;
    if (this.#thinksInContent && !takesThinkingParts(model)) return false;
    if (this.#short && !flags.shortForms) return false;
    if (flags.thinkingMode && !isThinkingOff(this.#wire) && lacksThoughts(this.#wire.messages)) return false;
    if (this.#showsResults || !isKnown(this.#wire, model)) return false;
    return (
      flags.callIds === 'any' ||
      this.#wire.messages.flatMap(idsOf).every((id) => takesCallId(id, model.capabilities))
    );
  }

  needsOtherWire(model: Model): boolean {
    const { tools, functions } = this.#wire;
    if (!tools?.length && !functions?.length) return false;
    return refusesChatTools(model, decodeReasoning(this.#wire).value);
  }

  decode(): CanonicalRequest {
    this.#request ??= decodeRequest(this.#wire, this.#text);
    return this.#request;
  }
}

/** Whether the vendor takes the format that the answer is asked for in. */
function keepsFormat({ response_format: format, tools }: WireRequest, model: Model): boolean {
  if (!format || format.type === 'text' || model.capabilities.structuredOutput) return true;
  return format.type === 'json_object' && hasJsonMode(model, Boolean(tools?.length));
}

/** Whether a request holds nothing that its vendor refuses it for, be it null; what asks for usage goes by the edits. */
function isKnown(wire: WireRequest, model: Model): boolean {
  const strange = Object.keys(chatFlags(model.capabilities).fields);
  if (strange.some((field) => field !== 'stream_options' && field in wire)) return false;
  if (
    strange.length > 0 &&
    wire.messages.some((message) =>
      Object.keys(message).some(
        (field) => refuses(model, field) && !(field === 'name' && message.role === 'tool'),
      ),
    )
  )
    return false;
  return true;
}

function feesOf({ web_search_options: options, tools }: WireRequest): Fee[] {
  const place = tools?.findIndex(isSearch) ?? -1;
  if (!options && place < 0) return [];
  return [
    { name: 'webSearch', field: options ? 'web_search_options' : `tools[${place}].type`, most: Infinity },
  ];
}

/** What a vendor runs itself is charged apart, or is another model; what day it is costs nothing. */
function toolModes(tool: WireTool, place: number): Mode[] {
  if (isOwnTool(tool) || isSearch(tool) || tool.type === 'openrouter:datetime') return [];
  return [{ name: tool.type ?? '', field: `tools[${place}].type`, untold: true }];
}

const freePlugins: ReadonlySet<unknown> = new Set(['response-healing', 'context-compression']);
const freeEngines: ReadonlySet<unknown> = new Set(['pdf-text', 'cloudflare-ai', 'native']);

/** xAI's live search, which it bills by each source it used. */
function liveSearch({ search_parameters: search }: WireRequest): Mode[] {
  const isOn = isObject(search) && search.mode !== 'off';
  return isOn ? [{ name: 'live search', field: 'search_parameters', untold: true }] : [];
}

/** OpenRouter's plugins: searches by what they find, and reading of documents by their pages, at prices that its list of models does not tell. */
function pluginModes({ plugins }: WireRequest): Mode[] {
  const all: unknown[] = Array.isArray(plugins) ? plugins : [];
  return all.flatMap((plugin, place): Mode[] => {
    if (!isObject(plugin) || plugin.enabled === false || freePlugins.has(plugin.id)) return [];
    const { id, pdf } = plugin;
    if (id === 'file-parser' && isObject(pdf) && freeEngines.has(pdf.engine)) return [];
    return [{ name: `plugin ${String(id)}`, field: `plugins[${place}].id`, untold: true }];
  });
}

function idsOf(message: WireAnyMessage): readonly string[] {
  if (!isKnownMessage(message)) return [];
  if (message.role === 'tool') return [message.tool_call_id];
  return message.role === 'assistant'
    ? (message.tool_calls?.filter(isKnownCall).map(({ id }) => id) ?? [])
    : [];
}

function isExtended(message: WireMessage): boolean {
  if (message.role !== 'assistant') return false;
  return (
    message.tool_calls?.length === 0 ||
    Boolean(message.reasoning_content ?? message.reasoning ?? message.reasoning_details ?? message.images)
  );
}

/** Throws `invalid_request` naming the field at fault. */
export function readRequest(body: unknown, text: string): ChatCall {
  const wire = checkWire(requestWire, body);
  checkTogether(wire);
  for (const [index, message] of wire.messages.entries())
    if (isKnownMessage(message)) checkMessage(message, index);
  return new ChatCall(wire, text);
}

function checkTogether(wire: WireRequest): void {
  if (wire.stream_options && !wire.stream)
    throw badField('stream_options', 'is only for streams', '"stream": true with it, or leave it out');
  if (wire.top_logprobs && !wire.logprobs) {
    throw badField(
      'top_logprobs',
      'is only for calls with log probabilities',
      '"logprobs": true with it, or leave it out',
    );
  }
  const { models } = wire;
  if (Array.isArray(models) && models.length > 0) refuseOtherModels('models');
  checkToolChoice(wire);
  const { function_call: call, functions = [] } = wire;
  if (typeof call === 'object' && call && !functions?.some(({ name }) => name === call.name)) {
    throw badField(
      'function_call',
      `names "${call.name}", which is not in "functions"`,
      'the name of one of them',
    );
  }
}

function checkToolChoice({ tool_choice: choice, tools }: WireRequest): void {
  if ((choice === 'required' || choice === 'any') && !tools?.length)
    throw badField('tool_choice', `is "${choice}" without any tools`, '"tools" with it, or leave it out');
  if (!choice || typeof choice === 'string' || !isNamedChoice(choice)) return;
  const known = new Set(
    tools?.filter(isOwnTool).map((tool) => (tool.type === 'custom' ? tool.custom.name : tool.function.name)),
  );
  const wanted = choice.type === 'allowed_tools' ? choice.allowed_tools.tools : [choice];
  const missing = wanted.flatMap(referredName).find((name) => !known.has(name));
  if (missing !== undefined)
    throw badField('tool_choice', `names "${missing}", which is not in "tools"`, 'the name of one of them');
}

function checkMessage(message: WireMessage, place: number): void {
  if (message.role === 'assistant') {
    const says =
      message.content ??
      message.refusal ??
      message.tool_calls?.[0] ??
      message.function_call ??
      message.audio ??
      message.images;
    if (says === undefined || says === null) {
      throw badField(
        `messages[${place}].content`,
        'is missing',
        'a string or an array of parts; only beside tool calls it may be null',
      );
    }
  }
  if (message.role !== 'user' || typeof message.content === 'string') return;
  for (const [index, part] of message.content.entries()) {
    if (isKnownPart(part) && part.type === 'file' && !part.file.file_data && !part.file.file_id) {
      throw badField(
        `messages[${place}].content[${index}].file`,
        'holds no file',
        'its content as "file_data" or its id as "file_id"',
      );
    }
  }
}

/** The most tokens of an answer in sound, of which OpenAI keeps the bytes: a later request has its id alone. */
const longestSound = 16_384;

/** Bounds the input from above: media is counted apart from the text it is written in. */
function sizeOf(messages: readonly WireAnyMessage[], text: string, rounds: number | undefined): InputSize {
  let images = 0;
  let mediaBytes = 0;
  let base64 = 0;
  let fetched = false;
  for (const message of messages) {
    if (!isKnownMessage(message) || hasStrangePart(message)) fetched = true;
    if (!isKnownMessage(message)) continue;
    if (message.role === 'assistant' && message.audio) mediaBytes += longestSound;
    for (const part of mediaOf(message)) {
      const length = base64Of(part);
      base64 += length;
      if (part.type === 'image_url') {
        images += 1;
        continue;
      }
      fetched ||= length === 0;
      mediaBytes += Math.floor((length * 3) / 4);
    }
  }
  return {
    textBytes: Buffer.byteLength(text) - base64,
    images,
    mediaBytes,
    fetched: fetched || undefined,
    rounds,
  };
}

/** Whether somebody says something of a kind that is not known here: nobody knows how much a vendor reads for it. */
function hasStrangePart({ role, content }: WireMessage): boolean {
  return role !== 'assistant' && Array.isArray(content) && !content.every(isKnownPart);
}

const mediaTypes: ReadonlySet<string> = new Set([
  'image_url',
  'input_audio',
  'file',
  'video_url',
  'document_url',
]);

/** The parts of a message that may be media. */
function mediaOf(message: WireMessage): readonly WirePart[] {
  if (message.role === 'assistant') return message.images ?? [];
  return typeof message.content === 'string' || !message.content
    ? []
    : message.content.filter(isKnownPart).filter(({ type }) => mediaTypes.has(type));
}

/** OpenRouter takes the address of a document in the place of its bytes. */
const isAddress = /^https?:/i;

function base64Of(part: WirePart): number {
  if (part.type === 'image_url') return base64Length(urlOf(part.image_url));
  if (part.type === 'input_audio')
    return typeof part.input_audio === 'string'
      ? base64Length(part.input_audio)
      : part.input_audio.data.length;
  if (part.type === 'video_url') return base64Length(urlOf(part.video_url));
  if (part.type === 'document_url') return base64Length(part.document_url);
  return part.type === 'file' && part.file.file_data && !isAddress.test(part.file.file_data)
    ? base64Length(part.file.file_data)
    : 0;
}

function urlOf(media: string | { readonly url: string }): string {
  return typeof media === 'string' ? media : media.url;
}
