/**
 * Corrects a provider's reply that goes to a client of the same protocol as it is. Most providers speak a
 * dialect: a client reads another vendor's word for the end as a finished answer, and fails at content that
 * is no text.
 */
import { splice, type CanonicalEvent, type EventOf } from '../../../core/index.ts';
import { parseJson } from '../../shared/wire-kit/event-data.ts';
import { readFinish } from '../../shared/wire-kit/finish-reason.ts';
import { readList, readMember } from '../../shared/wire-kit/values.ts';
import { isObject, splitNames, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { readParts } from './decode-choice.ts';
import { encodeFinish } from './finish.ts';

type Reason = EventOf<'finish'>['reason'];

/** OpenAI's words. */
const ownWords = splitNames('stop length tool_calls content_filter function_call');

/**
 * Whether the reason needs another word. OpenAI itself ends with "stop" if the client has named the tool to
 * call, so calls alone do not change a word.
 */
function isMisleading({ unified, raw }: Reason): boolean {
  return !ownWords.has(raw) || (unified !== 'tool-calls' && readFinish(raw) !== unified);
}

/** Finds content in parts, not log probabilities. A quote inside a string is escaped, so no text matches. */
const parted = /(?<!"logprobs":\{)"content":\s*\[/;

export function correctReply(data: string, events: readonly CanonicalEvent[]): string {
  // Every event of a stream passes here: most need no map.
  let reasons: Map<unknown, Reason> | undefined;
  for (const event of events)
    if (event.type === 'finish' && isMisleading(event.reason))
      (reasons ??= new Map()).set(event.candidate, event.reason);
  if (!reasons && !parted.test(data)) return data;
  const choices = readList(readMember(parseJson(data), 'choices'));
  const corrected = choices.map((choice, position) =>
    isObject(choice) ? correctChoice(choice, reasons?.get(choice.index ?? position)) : choice,
  );
  const isSame = corrected.every((choice, position) => choice === choices[position]);
  return isSame ? data : splice(data, [{ path: ['choices'], value: corrected }]);
}

function correctChoice(choice: Fields, reason: Reason | undefined): Fields {
  const content = (['delta', 'message'] as const).flatMap((name) => {
    const message = choice[name];
    return isInParts(message) ? [[name, joinParts(message)]] : [];
  });
  if (content.length === 0 && !reason) return choice;
  const write = (unified: Reason['unified']): string => encodeFinish(unified, unified === 'tool-calls');
  const native = choice.native_finish_reason ?? reason?.raw;
  return {
    ...choice,
    ...Object.fromEntries(content),
    ...(reason ? { finish_reason: write(reason.unified), native_finish_reason: native } : {}),
  };
}

function isInParts(message: unknown): message is Fields {
  return isObject(message) && Array.isArray(message.content);
}

/** Mistral sends parts if the content holds reasoning or references. References stay as parts. */
function joinParts({ content, ...message }: Fields): Fields {
  const parts = readList(content);
  const { text, reasoning } = Object.groupBy(readParts(parts), ([kind]) => kind);
  const join = (pieces: typeof text = []): string => pieces.map(([, piece]) => piece).join('');
  const others = parts.filter(
    (part) => readMember(part, 'text') === undefined && !readMember(part, 'thinking'),
  );
  return {
    ...message,
    content: join(text),
    ...(reasoning ? { reasoning_content: join(reasoning) } : {}),
    ...(others.length > 0 ? { content_parts: others } : {}),
  };
}
