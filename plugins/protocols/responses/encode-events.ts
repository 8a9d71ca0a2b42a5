/**
 * Encodes canonical events as a client's stream. It has every event that OpenAI sends, numbered, with full
 * response objects, because the SDKs' stream helpers need them. `[DONE]` follows the last event.
 */
import {
  GatewayError,
  type CanonicalEvent,
  type ClientCall,
  type EventEncoder,
  type ReplyContext,
  type SentFrames,
  type Usage,
} from '../../../core/index.ts';
import { buildErrorBody } from '../../shared/wire-kit/openai-error.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { OutputItemEncoder } from './encode-output-items.ts';
import type { Ending } from './finish.ts';
import type { ItemEvent } from './item-writer.ts';
import { ResponseObject } from './response-object.ts';

export const terminator = 'data: [DONE]\n\n';

function encodeFrame({ type, ...fields }: ItemEvent, number: number): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...fields })}\n\n`;
}

export class ReplyEncoder implements EventEncoder {
  readonly #response: ResponseObject;
  readonly #items: OutputItemEncoder;
  #usage: Usage = {};
  #number = 0;
  #started = false;

  constructor(context: ReplyContext) {
    this.#response = new ResponseObject(context);
    this.#items = new OutputItemEncoder(context);
  }

  push(event: CanonicalEvent): string {
    switch (event.type) {
      case 'ping':
        return '';
      case 'response-start':
        this.#response.addStart(event);
        return this.#start();
      case 'usage':
        this.#usage = { ...this.#usage, ...event.usage };
        return '';
      case 'response-end':
        return this.#start() + this.#encodeFrames(this.#items.close()) + this.#end();
      case 'error':
        return encodeFailure(new GatewayError('upstream_failed', event.message), this.#number, (ending) =>
          this.#response.encodeEnded(ending, this.#items.output, this.#usage),
        );
      default:
        if (event.type === 'finish') this.#response.addFinish(event);
        return this.#start() + this.#encodeFrames(this.#items.push(event));
    }
  }

  #start(): string {
    if (this.#started) return '';
    this.#started = true;
    const response = this.#response.encodeRunning();
    return this.#encodeFrames([
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ]);
  }

  #end(): string {
    const { ending, output } = this.#items;
    const response = this.#response.encodeEnded(ending, output, this.#usage);
    return this.#encodeFrames([{ type: `response.${ending.status}`, response }]) + terminator;
  }

  #encodeFrames(events: readonly ItemEvent[]): string {
    let text = '';
    for (const event of events) {
      text += encodeFrame(event, this.#number);
      this.#number += 1;
    }
    return text;
  }
}

/** Sends the error, both flat (as documented) and nested (as OpenAI sends it), then the failed response. */
function encodeFailure(error: GatewayError, number: number, respond: (ending: Ending) => Fields): string {
  const { type, code, message, param } = buildErrorBody(error).error;
  // SDKs know only some codes here. Any other error is the server's fault.
  const responseCode = type === 'server_error' || typeof code !== 'string' ? 'server_error' : code;
  const response = respond({
    status: 'failed',
    incomplete_details: null,
    error: { code: responseCode, message: error.message },
  });
  return (
    encodeFrame({ type: 'error', code, message, param, error: { type, code, message, param } }, number) +
    encodeFrame({ type: 'response.failed', response }, number + 1) +
    terminator
  );
}

/** Used if the stream's last number is unknown: it is higher than any number a stream reaches. */
const lateNumber = 1_000_000_000;

/** Returns the sequence number after the last one sent. */
function findNextNumber(started: boolean, last: string): number {
  if (!started) return 0;
  const numbers = [...last.matchAll(/"sequence_number":\s*(\d+)/g)];
  const [, number] = numbers.at(-1) ?? [];
  return number === undefined ? lateNumber : Number(number) + 1;
}

/** Ends a stream that broke: an error event and a failed response, with the id from the stream's start. */
export function encodeStreamError(
  error: GatewayError,
  call: ClientCall,
  started: boolean,
  sent: SentFrames = { first: '', last: '' },
): string {
  const response = new ResponseObject({
    id: 'failed',
    model: call.model,
    created: Math.floor(Date.now() / 1000),
    call,
  });
  const [, id] = /"id":\s*"(resp_[^"]*)"/.exec(sent.first) ?? [];
  return encodeFailure(error, findNextNumber(started, sent.last), (ending) => ({
    ...response.encodeEnded(ending, [], {}),
    ...(id === undefined ? {} : { id }),
    usage: null,
  }));
}

export function encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown {
  const items = new OutputItemEncoder(context);
  const response = new ResponseObject(context);
  let usage: Usage = {};
  for (const event of events) {
    if (event.type === 'usage') usage = { ...usage, ...event.usage };
    else items.push(event);
  }
  items.close();
  response.addStart(events.find((event) => event.type === 'response-start'));
  for (const event of events) if (event.type === 'finish') response.addFinish(event);
  return response.encodeEnded(items.ending, items.output, usage);
}
