/** Errors of providers, and the documented result of each. */
import { chunk, ending } from '../support/chat-stream.ts';
import { chatReply } from '../support/replies.ts';
import { sendJson, type Conduct } from '../support/scripted-vendor.ts';

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const start = chunk({ role: 'assistant', content: 'one' });

const whole = chatReply('one', { usage });

const isStream = (body: string): boolean => body.includes('"stream":true');

/** Answers correctly, whole or streamed. */
export const answerWell: Conduct = (response, _, body) => {
  if (!isStream(body)) return sendJson(response, whole);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(start + chunk({}, 'stop') + ending(usage));
};

/** Sends the head of a reply and this much of its body, then does as instructed. */
const breakAfter =
  (text: string, then: (response: Parameters<Conduct>[0]) => void): Conduct =>
  (response, _, body) => {
    response.writeHead(200, { 'content-type': isStream(body) ? 'text/event-stream' : 'application/json' });
    response.flushHeaders();
    if (text) response.write(text);
    setTimeout(() => then(response), 20);
  };

const answerWith =
  (status: number, code = 'some_code'): Conduct =>
  (response) =>
    sendJson(response, { error: { message: 'It says no.', type: 't', code } }, status);

const keepSilent = (): void => undefined;

/**
 * What the client of each kind of call gets: `second` if the next provider answers, otherwise the status of
 * the error.
 */
export type Choice = 'second' | number;

export interface Row {
  readonly fault: Conduct | 'refused' | 'unreachable';
  /** Only a timeout of the gateway ends the attempt. */
  readonly isSilent?: true;
  readonly stream: Choice | 'cut';
  readonly json: Choice;
  readonly image: Choice;
  /**
   * How often a target is asked: again after a transient fault, and for a key at its limit or after silence
   * if no other target is left.
   */
  readonly asked?: 'once' | 'twice when alone' | 'again when alone';
}

const anywhere = { stream: 'second', json: 'second', image: 'second' } as const;

/** The provider may have produced the image, so the gateway does not ask for it again. */
const unknownOutcome = (status: number): Omit<Row, 'fault'> => ({
  stream: 'second',
  json: 'second',
  image: status,
});

const askedOnce = { asked: 'once' } as const;
const askedTwiceAlone = { asked: 'twice when alone' } as const;

export const nowhere = (status: number): Omit<Row, 'fault'> => ({
  stream: status,
  json: status,
  image: status,
});

export const rows: Readonly<Record<string, Row>> = {
  'nothing listens': { fault: 'refused', ...anywhere },
  'no connection comes about': { fault: 'unreachable', ...anywhere, ...askedTwiceAlone },
  'the connection is reset before any reply': {
    fault: (response) => void response.socket?.resetAndDestroy(),
    ...unknownOutcome(502),
  },
  'the connection is closed before any reply': {
    fault: (response) => void response.socket?.destroy(),
    ...unknownOutcome(502),
  },
  'silence before the head': {
    fault: keepSilent,
    isSilent: true,
    ...unknownOutcome(504),
    ...askedTwiceAlone,
  },
  'status 400': { fault: answerWith(400), ...nowhere(400) },
  'status 400 about our key': { fault: answerWith(400, 'invalid_api_key'), ...anywhere, ...askedOnce },
  'status 400 for content': { fault: answerWith(400, 'content_policy_violation'), ...nowhere(400) },
  'status 401': { fault: answerWith(401), ...anywhere, ...askedOnce },
  'status 402': { fault: answerWith(402), ...anywhere, ...askedOnce },
  'status 403': { fault: answerWith(403), ...anywhere, ...askedOnce },
  'status 404': { fault: answerWith(404, 'model_not_found'), ...anywhere, ...askedOnce },
  'status 413': { fault: answerWith(413), ...nowhere(413) },
  'status 422': { fault: answerWith(422), ...nowhere(422) },
  'status 429': { fault: answerWith(429, 'rate_limit_exceeded'), ...anywhere, asked: 'again when alone' },
  'status 429 for want of credit': {
    fault: answerWith(429, 'insufficient_quota'),
    ...anywhere,
    ...askedOnce,
  },
  'status 500': { fault: answerWith(500), ...anywhere },
  'status 502': { fault: answerWith(502), ...unknownOutcome(502) },
  'status 503': { fault: answerWith(503), ...anywhere },
  'status 504': { fault: answerWith(504), ...unknownOutcome(504) },
  'status 529': { fault: answerWith(529), ...anywhere },
  'silence after the head': {
    fault: breakAfter('', keepSilent),
    isSilent: true,
    ...unknownOutcome(504),
    ...askedTwiceAlone,
  },
  'a reset after the head': {
    fault: breakAfter('', (response) => response.socket?.resetAndDestroy()),
    ...unknownOutcome(502),
  },
  'an end after the head': { fault: breakAfter('', (response) => response.end()), ...unknownOutcome(502) },
  garbage: { fault: breakAfter('<html>', (response) => response.end()), ...unknownOutcome(502) },
  'a chunk without a length': {
    fault: breakAfter('', (response) => void response.socket?.write('none\r\n')),
    ...unknownOutcome(502),
  },
  'comments and nothing else': {
    fault: breakAfter(': wait\n\n', (response) => response.end()),
    ...unknownOutcome(502),
  },
  'an error for a first event': {
    fault: breakAfter('data: {"error":{"message":"no","code":"boom"}}\n\n', (response) => response.end()),
    ...unknownOutcome(502),
  },
  'an error about the request for a first event': {
    fault: breakAfter('data: {"error":{"message":"no","code":400}}\n\n', (response) => response.end()),
    stream: 400,
    json: 'second',
    image: 502,
  },
  'an error about the request for a whole reply': {
    fault: (response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"error":{"message":"no","code":422}}'),
    ...nowhere(422),
  },
  'a reset after the first event': {
    fault: breakAfter(start, (response) => response.socket?.resetAndDestroy()),
    stream: 'cut',
    json: 'second',
    image: 502,
  },
  'an end after the first event': {
    fault: breakAfter(start, (response) => response.end()),
    stream: 'cut',
    json: 'second',
    image: 502,
  },
  'an error after the first event': {
    fault: breakAfter(start, (response) =>
      response.end('data: {"error":{"message":"no","code":"boom"}}\n\n'),
    ),
    stream: 'cut',
    json: 'second',
    image: 502,
  },
  'a chunk without a length after the first event': {
    fault: breakAfter(start, (response) => void response.socket?.write('none\r\n')),
    stream: 'cut',
    json: 'second',
    image: 502,
  },
  'silence after the first event': {
    fault: breakAfter(start, keepSilent),
    isSilent: true,
    stream: 'cut',
    json: 'second',
    image: 504,
    ...askedOnce,
  },
};
