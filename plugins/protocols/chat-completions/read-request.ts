/** Reads a client's request: checks it, and collects the facts that routing and billing need. */
import type { Fee, Mode, Model } from '../../../core/index.ts';
import { chatFlags, refuses } from '../../shared/wire-kit/chat-flags.ts';
import { refusesChatTools } from '../../shared/wire-kit/choose-openai-wire.ts';
import { containsEnvelope } from '../../shared/wire-kit/envelope.ts';
import { hasJsonMode } from '../../shared/wire-kit/json-mode.ts';
import { readRequestedModes } from '../../shared/wire-kit/modes.ts';
import { readPreferences } from '../../shared/wire-kit/provider-object.ts';
import { ReadCall, readLabels, type CallFacts } from '../../shared/wire-kit/read-call.ts';
import { readList } from '../../shared/wire-kit/values.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { checkRequest, hasReasoningAlone } from './check-request.ts';
import { decodeReasoning, decodeRequest, readLimit } from './decode-request.ts';
import { isSearch } from './decode-tools.ts';
import { listMedia, measureInput } from './input-size.ts';
import { isReasoningOff, lacksReasoning, refusesExtensions, takesThinkingParts } from './reasoning.ts';
import { takesCallId } from './tool-names.ts';
import * as WireMessages from './wire-messages.ts';
import * as Wire from './wire.ts';

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
    const known = wire.messages.filter(WireMessages.isKnownMessage);
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
    return refusesChatTools(model, decodeReasoning(this.#wire).value);
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

function readFacts(wire: Wire.Request, known: readonly WireMessages.Message[], text: string): CallFacts {
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

function suitsMessage(message: WireMessages.AnyMessage, model: Model): boolean {
  const { callIds, fields, shortForms } = chatFlags(model.capabilities);
  const isRefused = (field: string): boolean =>
    refuses(model, field) && !(field === 'name' && message.role === 'tool');
  if (Object.keys(fields).length > 0 && Object.keys(message).some(isRefused)) return false;
  if (!WireMessages.isKnownMessage(message)) return true;
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

function listCallIds(message: WireMessages.Message): readonly string[] {
  if (message.role === 'tool') return [message.tool_call_id];
  return message.role === 'assistant'
    ? (message.tool_calls?.filter(WireMessages.isKnownCall).map(({ id }) => id) ?? [])
    : [];
}

/** Whether a tool's result holds media, which the encoder moves to a user message. */
function holdsResultMedia(message: WireMessages.Message): boolean {
  return message.role === 'tool' && listMedia(message).length > 0;
}

function holdsThoughts({ role, content }: WireMessages.Message): boolean {
  return role === 'assistant' && Array.isArray(content) && content.some(({ type }) => type === 'thinking');
}

/** Whether an assistant message has what OpenAI refuses: reasoning, images, or an empty `tool_calls`. */
function isExtended(message: WireMessages.Message): boolean {
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
function isShortMessage(message: WireMessages.Message): boolean {
  const { content } = message;
  if (Array.isArray(content) && (content.length === 0 || content.some(isShortPart))) return true;
  return (
    message.role === 'assistant' &&
    (message.tool_calls?.some((call) => WireMessages.isKnownCall(call) && call.type === undefined) ?? false)
  );
}

function isShortPart(part: WireMessages.AnyPart): boolean {
  if (!WireMessages.isKnownPart(part)) return false;
  if (part.type === 'image_url') return typeof part.image_url === 'string';
  return (
    part.type === 'document_url' || (part.type === 'input_audio' && typeof part.input_audio === 'string')
  );
}
