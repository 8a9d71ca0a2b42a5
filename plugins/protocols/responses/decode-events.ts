/**
 * A vendor's reply to canonical events: event by event, or a whole response taken item by item. It runs on every
 * event of every stream, for metering if for nothing else, so the guards are written out by hand. Events of kinds
 * that are not in the table bring nothing that the whole item does not say again.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  GatewayError,
  type CanonicalEvent,
  type ClientCall,
  type EventDecoder,
  type Model,
  type WireEvent,
} from '../../../core/index.ts';
import { parsed, cannotBeRead, canSkip } from '../../shared/wire-kit/event-data.ts';
import { servedMode } from '../../shared/wire-kit/modes.ts';
import { errorEvent } from '../../shared/wire-kit/openai-error.ts';
import { isObject, type Fields, type Sides } from '../../shared/wire-kit/vendor-bag.ts';
import { readVendorError } from '../../shared/wire-kit/vendor-error.ts';
import { bag } from './bag.ts';
import { OutputItemDecoder } from './decode-output-items.ts';
import { decodeFinish } from './finish.ts';
import { findSealer } from './sealed.ts';
import { ToolNames } from './tool-names.ts';
import { decodeUsage } from './usage.ts';

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

type Take = (items: OutputItemDecoder, event: Fields) => void;

const takes: ReadonlyMap<string, Take> = new Map(
  Object.entries<Take>({
    'response.output_item.added': (items, { output_index: index, item }) =>
      void (isObject(item) && items.add(index, item)),
    'response.output_item.done': (items, { output_index: index, item }) =>
      void (isObject(item) && items.done(index, item)),
    'response.output_text.delta': (items, { output_index: index, content_index: part, delta, logprobs }) =>
      items.say(index, part, 'text', text(delta), list(logprobs)),
    'response.refusal.delta': (items, { output_index: index, content_index: part, delta }) =>
      items.say(index, part, 'refusal', text(delta)),
    'response.output_text.annotation.added': (
      items,
      { output_index: index, content_index: part, annotation },
    ) => items.annotate(index, part, annotation),
    'response.content_part.done': (items, { output_index: index, content_index: position, part }) => {
      if (isObject(part) && part.type !== 'reasoning_text') items.endPart(index, position, part);
    },
    'response.reasoning_summary_text.delta': (items, { output_index: index, summary_index: part, delta }) =>
      items.reason(index, 'summary', part, text(delta)),
    'response.reasoning_text.delta': (items, { output_index: index, content_index: part, delta }) =>
      items.reason(index, 'content', part, text(delta)),
    'response.function_call_arguments.delta': (items, { output_index: index, delta }) =>
      items.argue(index, false, text(delta)),
    'response.image_generation_call.partial_image': (items, event) => items.paint(event),
    'response.custom_tool_call_input.delta': (items, { output_index: index, delta }) =>
      items.argue(index, true, text(delta)),
  }),
);

/** Events that hold the whole response, the last of them with its end. */
const lifecycle = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
]);

/** Errors of a response that are about what the caller sent: the vendor's words are what helps. */
const clientFault =
  /^(invalid_|image_|unsupported_image|empty_image|bio_policy|content_policy|context_length_exceeded|failed_to_download_image)/;

/** Errors of a response that are about how busy its vendor is. */
const busy: ReadonlyMap<string, number> = new Map([
  ['rate_limit_exceeded', 429],
  ['server_is_overloaded', 503],
]);

/** What a response says of the call rather than of itself, or what is told by events of its own. */
const ownWords = new Set([
  'id',
  'object',
  'created_at',
  'completed_at',
  'status',
  'error',
  'incomplete_details',
  'output',
  'output_text',
  'usage',
  'model',
  'billing',
  'background',
  'conversation',
  'previous_response_id',
  'store',
  'tools',
  'tool_choice',
  'instructions',
  'metadata',
  'user',
  'safety_identifier',
  'prompt',
  'text',
  'tool_usage',
  'max_output_tokens',
]);

function readReplyFacts(response: Fields): Fields {
  return Object.fromEntries(
    Object.entries(response).filter(([name, value]) => value !== null && !ownWords.has(name)),
  );
}

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #items: OutputItemDecoder;
  #names: ToolNames | undefined;
  #events: CanonicalEvent[] = [];
  #started: Fields | undefined;
  #over = false;

  constructor(call: ClientCall, model?: Model) {
    this.#call = call;
    const names = (): ToolNames => (this.#names ??= new ToolNames(call.decode()));
    this.#items = new OutputItemDecoder(
      (event) => void this.#events.push(event),
      names,
      findSealer(model?.id ?? ''),
    );
  }

  push(wire: WireEvent): CanonicalEvent[] {
    this.#events = [];
    if (!this.#over && wire.data !== '[DONE]') this.#take(parsed(wire.data), wire);
    return this.#events;
  }

  end(): CanonicalEvent[] {
    this.#events = [];
    this.#items.close();
    this.#over = true;
    return this.#events;
  }

  /** A whole response at once. Throws where it is none. */
  whole(body: unknown): CanonicalEvent[] {
    if (!isObject(body) || !(Array.isArray(body.output) || body.error))
      throw new GatewayError('upstream_failed', 'The provider sent a reply that is no response.');
    this.#events = [];
    // Some relays leave the status out of a response that is whole.
    if (Array.isArray(body.output))
      this.#follow(addStatus(body, isObject(body.error) ? 'failed' : 'completed'));
    else this.#fail(body);
    return this.#events;
  }

  #take(event: unknown, wire: WireEvent): void {
    if (!isObject(event)) return this.#lose(wire);
    const type = text(event.type) || (wire.event ?? '');
    const take = takes.get(type);
    if (take) return take(this.#items, event);
    if (lifecycle.has(type) && isObject(event.response))
      return this.#follow(addStatus(event.response, type.slice('response.'.length)));
    if (type === 'keepalive') this.#events.push({ type: 'ping' });
    // OpenAI nests the error in its event; its own documents have it flat.
    if (type === 'error' || isObject(event.error)) this.#fail(event);
  }

  #lose(wire: WireEvent): void {
    if (!canSkip(wire)) return this.#fail({ message: cannotBeRead });
    this.#items.torn = true;
    this.#events.push({ type: 'unreadable' });
  }

  #follow(response: Fields): void {
    if (!this.#started) this.#start(response);
    const { status } = response;
    if (status === 'queued' || status === 'in_progress') return;
    if (!this.#items.any) {
      for (const [index, item] of list(response.output).entries())
        if (isObject(item)) this.#items.done(index, item);
    }
    this.#items.close();
    const usage = decodeUsage(response);
    if (usage)
      this.#events.push({
        type: 'usage',
        usage: { ...usage, ...servedMode({ service_tier: response.service_tier }, this.#call) },
      });
    const reason = decodeFinish(response, this.#items);
    if (!reason) return this.#fail(response);
    this.#over = true;
    this.#events.push(
      { type: 'finish', candidate: 0, reason, ...this.#late(response) },
      { type: 'response-end' },
    );
  }

  #start(response: Fields): void {
    const { id, model, created_at: created } = response;
    this.#started = response;
    this.#events.push({
      type: 'response-start',
      ...(typeof id === 'string' && id !== '' ? { id } : {}),
      ...(typeof model === 'string' ? { model } : {}),
      ...(typeof created === 'number' ? { created: Math.floor(created) } : {}),
      ...bag.keep(readReplyFacts(response)),
    });
  }

  /** What a response says of itself at its end alone, or otherwise than at its beginning: which tier it was served at. */
  #late(response: Fields): Sides {
    const early = this.#started ?? {};
    return bag.keep(
      Object.fromEntries(
        Object.entries(readReplyFacts(response)).filter(
          ([name, value]) => !isDeepStrictEqual(value, early[name]),
        ),
      ),
    );
  }

  #fail(body: Fields): void {
    if (this.#over) return;
    this.#over = true;
    this.#items.close();
    const { error: nested } = body;
    const error = readVendorError({ error: isObject(nested) ? nested : flat(body) });
    this.#events.push(
      errorEvent(error, error.status ?? (error.code === undefined ? undefined : statusForCode(error.code))),
    );
  }
}

/** The error in an event that is one itself. */
function flat(event: Fields): Fields {
  return Object.fromEntries(
    Object.entries(event).filter(([name]) => name !== 'type' && name !== 'sequence_number'),
  );
}

/** The status that an error would have had before the stream began. */
function statusForCode(code: string): number | undefined {
  return clientFault.test(code) ? 400 : busy.get(code);
}

function addStatus(response: Fields, status: string): Fields {
  return typeof response.status === 'string'
    ? response
    : { ...response, status: status === 'created' ? 'in_progress' : status };
}
