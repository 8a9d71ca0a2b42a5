/**
 * Decodes a provider's reply to canonical events: a stream event by event, a JSON reply item by item. Every
 * stream passes through here, if only to be metered, so the checks are written by hand for speed. Events
 * without a handler only repeat parts of the item that `response.output_item.done` holds.
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
import { parseJson, unreadableEvent } from '../../shared/wire-kit/event-data.ts';
import { considerCalls } from '../../shared/wire-kit/finish-reason.ts';
import { readServedMode } from '../../shared/wire-kit/modes.ts';
import { buildErrorEvent } from '../../shared/wire-kit/openai-error.ts';
import { ReplyLog } from '../../shared/wire-kit/reply-log.ts';
import { readList, readText } from '../../shared/wire-kit/values.ts';
import {
  isObject,
  splitNames,
  pickStated,
  type Fields,
  type Sides,
} from '../../shared/wire-kit/vendor-bag.ts';
import { isError, readVendorError } from '../../shared/wire-kit/vendor-error.ts';
import { bag } from './bag.ts';
import { OutputItemDecoder } from './decode-output-items.ts';
import { decodeFinish } from './finish.ts';
import { ResponsesCall } from './read-request.ts';
import { findSealer } from './sealed.ts';
import { ToolNames } from './tool-names.ts';
import { decodeUsage } from './usage.ts';

type Handler = (items: OutputItemDecoder, event: Fields) => void;

const handlers: ReadonlyMap<string, Handler> = new Map(
  Object.entries<Handler>({
    'response.output_item.added': (items, { output_index: index, item }) =>
      void (isObject(item) && items.startItem(index, item)),
    'response.output_item.done': (items, { output_index: index, item }) =>
      void (isObject(item) && items.endItem(index, item)),
    'response.output_text.delta': (items, { output_index: index, content_index: part, delta, logprobs }) =>
      items.addText(index, part, readText(delta), readList(logprobs)),
    'response.refusal.delta': (items, { output_index: index, content_index: part, delta }) =>
      items.addRefusal(index, part, readText(delta)),
    'response.output_text.annotation.added': (items, event) =>
      items.addAnnotation(event.output_index, event.content_index, event.annotation),
    'response.content_part.done': (items, { output_index: index, content_index: position, part }) => {
      if (isObject(part) && part.type !== 'reasoning_text') items.endPart(index, position, part);
    },
    'response.reasoning_summary_text.delta': (items, { output_index: index, summary_index: part, delta }) =>
      items.addReasoning(index, 'summary', part, readText(delta)),
    'response.reasoning_text.delta': (items, { output_index: index, content_index: part, delta }) =>
      items.addReasoning(index, 'content', part, readText(delta)),
    'response.function_call_arguments.delta': (items, { output_index: index, delta }) =>
      items.addArguments(index, readText(delta)),
    'response.custom_tool_call_input.delta': (items, { output_index: index, delta }) =>
      items.addInput(index, readText(delta)),
    'response.image_generation_call.partial_image': (items, event) => items.addPartialImage(event),
  }),
);

/** Events that hold the whole response. */
const lifecycle = splitNames(`
  response.created response.queued response.in_progress response.completed response.incomplete
  response.failed response.cancelled
`);

/** Codes of errors in the client's own input. The provider's message says what to correct. */
const clientFault = new RegExp(
  '^(invalid_|image_|unsupported_image|empty_image|failed_to_download_image|' +
    'bio_policy|content_policy|context_length_exceeded)',
);

/** Fields of a response that repeat the request, or that canonical events carry. */
const fieldsElsewhere = splitNames(`
  id object created_at completed_at status error incomplete_details output output_text usage model billing
  background conversation previous_response_id store tools tool_choice instructions metadata user
  safety_identifier prompt text tool_usage max_output_tokens
`);

export class ReplyDecoder implements EventDecoder {
  readonly #call: ClientCall;
  readonly #items: OutputItemDecoder;
  readonly #log = new ReplyLog();
  #names: ToolNames | undefined;
  #started: Fields | undefined;
  #ended = false;

  constructor(call: ClientCall, model?: Model) {
    this.#call = call;
    const ensureNames = (): ToolNames =>
      (this.#names ??= new ToolNames(call.decode(), call instanceof ResponsesCall));
    this.#items = new OutputItemDecoder(this.#log, ensureNames, findSealer(model?.id ?? ''));
  }

  push(wire: WireEvent): CanonicalEvent[] {
    if (!this.#ended && wire.data !== '[DONE]') this.#takeEvent(parseJson(wire.data), wire);
    return this.#log.take();
  }

  end(): CanonicalEvent[] {
    this.#ended = true;
    return this.#log.take();
  }

  /** Decodes a response that is not streamed. Throws if the body is not a response. */
  decodeWhole(body: unknown): CanonicalEvent[] {
    if (!isObject(body) || !(Array.isArray(body.output) || isError(body)))
      throw new GatewayError('upstream_failed', 'The provider sent a reply that is not a response object.');
    // Some relays omit the status of a complete response.
    if (Array.isArray(body.output))
      this.#takeResponse(addStatus(body, isObject(body.error) ? 'failed' : 'completed'));
    else this.#fail(body);
    return this.#log.take();
  }

  #takeEvent(event: unknown, wire: WireEvent): void {
    if (!isObject(event)) return this.#skip(wire);
    const type = readText(event.type) || (wire.event ?? '');
    const handle = handlers.get(type);
    if (handle) return handle(this.#items, event);
    if (lifecycle.has(type) && isObject(event.response))
      return this.#takeResponse(addStatus(event.response, type.slice('response.'.length)));
    if (type === 'keepalive') this.#log.emit({ type: 'ping' });
    // OpenAI's API nests the error in the event; OpenAI's documentation shows it flat.
    if (isError(event, type)) this.#fail(event);
  }

  #skip(wire: WireEvent): void {
    if (this.#log.skip(wire)) this.#items.hasGap = true;
    else this.#fail({ error: unreadableEvent });
  }

  #takeResponse(response: Fields): void {
    if (!this.#started) this.#start(response);
    const { status } = response;
    if (status === 'queued' || status === 'in_progress') return;
    if (!this.#items.hasItems) {
      for (const [index, item] of readList(response.output).entries())
        if (isObject(item)) this.#items.endItem(index, item);
    }
    const finish = decodeFinish(response, this.#items);
    if (finish) this.#items.close();
    const usage = decodeUsage(response);
    if (usage)
      this.#log.emit({
        type: 'usage',
        usage: { ...usage, ...readServedMode({ service_tier: response.service_tier }, this.#call) },
      });
    if (!finish) return this.#fail(response);
    this.#ended = true;
    const calls = { any: this.#items.calls, cut: this.#log.isCut(0) };
    const reason = { ...finish, unified: considerCalls(finish.unified, calls) };
    this.#log.emit({ type: 'finish', candidate: 0, reason, ...this.#readLateFacts(response) });
    this.#log.emit({ type: 'response-end' });
  }

  #start(response: Fields): void {
    const { id, model, created_at: created } = response;
    this.#started = response;
    const seconds = typeof created === 'number' ? Math.floor(created) : undefined;
    this.#log.begin(id || undefined, model, seconds, bag.keep(pickStated(response, fieldsElsewhere)));
  }

  /** Returns fields that the response added or changed after its start, such as the service tier. */
  #readLateFacts(response: Fields): Sides {
    const early = this.#started ?? {};
    const facts = Object.entries(pickStated(response, fieldsElsewhere));
    const late = facts.filter(([name, value]) => !isDeepStrictEqual(value, early[name]));
    return bag.keep(Object.fromEntries(late));
  }

  #fail(body: Fields): void {
    if (this.#ended) return;
    this.#ended = true;
    const error = readVendorError(body);
    const isClients = clientFault.test(error.code ?? '');
    this.#log.emit(buildErrorEvent(error, error.status ?? (isClients ? 400 : undefined)));
  }
}

function addStatus(response: Fields, status: string): Fields {
  return typeof response.status === 'string'
    ? response
    : { ...response, status: status === 'created' ? 'in_progress' : status };
}
