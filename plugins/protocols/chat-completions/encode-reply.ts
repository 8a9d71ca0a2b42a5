/** A whole reply as one chat completion: the parts a stream would have sent, joined. */
import type { CanonicalEvent, ReplyContext, Usage } from '../../../core/index.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { ChoiceParts, type ChoicePart } from './choice-parts.ts';
import { replyHead } from './encode-events.ts';
import { encodeUsage } from './usage.ts';

interface Choice {
  readonly message: Record<string, unknown>;
  logprobs: Record<string, unknown> | null;
  finish: string | null;
  native: string | undefined;
}

export function encodeReply(events: readonly CanonicalEvent[], context: ReplyContext): unknown {
  const parts = new ChoiceParts(context);
  const choices = new Map<number, Choice>();
  let usage: Usage | undefined;
  for (const event of events) {
    if (event.type === 'usage') usage = { ...usage, ...event.usage };
    const part = parts.push(event);
    if (!part) continue;
    const choice = choices.get(part.candidate) ?? {
      message: {},
      logprobs: null,
      finish: null,
      native: undefined,
    };
    choices.set(part.candidate, choice);
    addPart(choice, part);
  }
  const start = events.find((event) => event.type === 'response-start');
  return {
    ...replyHead(context, 'chat.completion', start),
    choices: [...choices]
      .toSorted(([first], [second]) => first - second)
      .map(([index, choice]) => writeChoice(index, choice)),
    ...(usage ? { usage: encodeUsage(usage) } : {}),
  };
}

function addPart(choice: Choice, { delta, logprobs, finish, native }: ChoicePart): void {
  join(choice.message, delta);
  if (logprobs) {
    choice.logprobs ??= { content: null, refusal: null };
    join(choice.logprobs, logprobs);
  }
  if (finish !== undefined) [choice.finish, choice.native] = [finish, native];
}

/** Adds a delta: texts and lists grow, calls by their index, and anything else is said once. */
function join(into: Record<string, unknown>, delta: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(delta)) {
    // By this name a vendor's member would be joined into the prototype of every object.
    if (name === '__proto__') continue;
    const there = into[name];
    if (typeof there === 'string' && typeof value === 'string') into[name] = there + value;
    else if (Array.isArray(value))
      into[name] = name === 'tool_calls' ? joinCalls(there, value) : joinItems(there, value);
    else if (isObject(there) && isObject(value)) join(there, value);
    else if (value !== null || there === undefined) into[name] = isObject(value) ? { ...value } : value;
  }
}

/** Adds to the list that is there, which is ours: a copy for each citation would take quadratic time. */
function joinItems(there: unknown, items: readonly unknown[]): unknown[] {
  if (!Array.isArray(there)) return [...items];
  for (const item of items) there.push(item);
  return there;
}

function joinCalls(there: unknown, fragments: readonly unknown[]): unknown[] {
  const calls: unknown[] = Array.isArray(there) ? there : [];
  for (const fragment of fragments) {
    if (!isObject(fragment)) continue;
    const { index, ...fields } = fragment;
    const call: unknown = calls[Number(index)];
    if (isObject(call)) join(call, fields);
    else calls[Number(index)] = fields;
  }
  return calls;
}

function writeChoice(index: number, { message, logprobs, finish, native }: Choice): unknown {
  const { content, refusal = null, ...rest } = message;
  // A message that says nothing else says at least the empty text.
  const silent = refusal === null && rest.tool_calls === undefined && rest.audio === undefined;
  return {
    index,
    message: { role: 'assistant', content: content ?? (silent ? '' : null), refusal, ...rest },
    logprobs,
    finish_reason: finish,
    ...(native === undefined ? {} : { native_finish_reason: native }),
  };
}
