/**
 * Canonical events as a client's stream: the whole set of the vendor's events, numbered, around full response
 * objects, since the helpers of its SDKs read no less; and behind the last of them `[DONE]`.
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
import { errorBody } from '../../shared/wire-kit/openai-error.ts';
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
  #begun = false;

  constructor(context: ReplyContext) {
    this.#response = new ResponseObject(context);
    this.#items = new OutputItemEncoder(context);
  }

  push(event: CanonicalEvent): string {
    switch (event.type) {
      case 'ping':
        return '';
      case 'response-start':
        this.#response.started(event);
        return this.#begin();
      case 'usage':
        this.#usage = { ...this.#usage, ...event.usage };
        return '';
      case 'response-end':
        return this.#begin() + this.#frames(this.#items.close()) + this.#last();
      case 'error':
        return encodeFailure(new GatewayError('upstream_failed', event.message), this.#number, (ending) =>
          this.#response.ended(ending, this.#items.output, this.#usage),
        );
      default:
        if (event.type === 'finish') this.#response.finished(event);
        return this.#begin() + this.#frames(this.#items.push(event));
    }
  }

  #begin(): string {
    if (this.#begun) return '';
    this.#begun = true;
    const response = this.#response.running();
    return this.#frames([
      { type: 'response.created', response },
      { type: 'response.in_progress', response },
    ]);
  }

  #last(): string {
    const { ending, output } = this.#items;
    return (
      this.#frames([
        { type: `response.${ending.status}`, response: this.#response.ended(ending, output, this.#usage) },
      ]) + terminator
    );
  }

  #frames(events: readonly ItemEvent[]): string {
    let text = '';
    for (const event of events) {
      text += encodeFrame(event, this.#number);
      this.#number += 1;
    }
    return text;
  }
}

/** The error by itself, flat as documented and nested as the vendor sends it, then the response that failed of it. */
function encodeFailure(error: GatewayError, number: number, respond: (ending: Ending) => Fields): string {
  const { error: told } = errorBody(error);
  const { type, code, message, param } = told;
  const word = type === 'server_error' || typeof code !== 'string' ? 'server_error' : code;
  const response = respond({
    status: 'failed',
    incomplete_details: null,
    error: { code: word, message: error.message },
  });
  return (
    encodeFrame({ type: 'error', code, message, param, error: { type, code, message, param } }, number) +
    encodeFrame({ type: 'response.failed', response }, number + 1) +
    terminator
  );
}

/** Above the numbers of any stream: where nobody knows how far it got. */
const lateNumber = 1_000_000_000;

/** The number that follows those a stream has said. */
function findNextNumber(begun: boolean, last: string): number {
  if (!begun) return 0;
  const numbers = [...last.matchAll(/"sequence_number":\s*(\d+)/g)];
  const [, number] = numbers.at(-1) ?? [];
  return number === undefined ? lateNumber : Number(number) + 1;
}

/** What ends a stream that broke; codes of the response are those clients know, and all else is the server's fault. */
export function encodeStreamError(
  error: GatewayError,
  call: ClientCall,
  begun: boolean,
  sent: SentFrames = { first: '', last: '' },
): string {
  const response = new ResponseObject({
    id: 'failed',
    model: call.model,
    created: Math.floor(Date.now() / 1000),
    call,
  });
  const [, id] = /"id":\s*"(resp_[^"]*)"/.exec(sent.first) ?? [];
  return encodeFailure(error, findNextNumber(begun, sent.last), (ending) => ({
    ...response.ended(ending, [], {}),
    ...(id === undefined ? {} : { id }),
    usage: null,
  }));
}
