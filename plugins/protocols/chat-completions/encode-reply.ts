/** Writes a whole reply as one chat completion, by joining the parts that a stream would have sent. */
import type { CanonicalEvent, ReplyContext, Usage } from '../../../core/index.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';
import { ChoiceParts, type ChoicePart } from './choice-parts.ts';
import { buildHead } from './encode-events.ts';
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
    ...buildHead(context, 'chat.completion', start),
    choices: [...choices]
      .toSorted(([first], [second]) => first - second)
      .map(([index, choice]) => writeChoice(index, choice)),
    ...(usage ? { usage: encodeUsage(usage) } : {}),
  };
}

function addPart(choice: Choice, { delta, logprobs, finish, native }: ChoicePart): void {
  mergeDelta(choice.message, delta);
  if (logprobs) {
    choice.logprobs ??= { content: null, refusal: null };
    mergeDelta(choice.logprobs, logprobs);
  }
  if (finish !== undefined) [choice.finish, choice.native] = [finish, native];
}

/** Merges a delta: texts and lists are appended, calls are merged by index, and other values are set. */
function mergeDelta(into: Record<string, unknown>, delta: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(delta)) {
    // A provider's member with this name would be merged into the prototype of every object.
    if (name === '__proto__') continue;
    const before = into[name];
    if (typeof before === 'string' && typeof value === 'string') into[name] = before + value;
    else if (Array.isArray(value))
      into[name] = name === 'tool_calls' ? mergeCalls(before, value) : appendItems(before, value);
    else if (isObject(before) && isObject(value)) mergeDelta(before, value);
    else if (value !== null || before === undefined) into[name] = isObject(value) ? { ...value } : value;
  }
}

/** Appends to our own list: a copy for each citation would take quadratic time. */
function appendItems(before: unknown, items: readonly unknown[]): unknown[] {
  if (!Array.isArray(before)) return [...items];
  for (const item of items) before.push(item);
  return before;
}

function mergeCalls(before: unknown, fragments: readonly unknown[]): unknown[] {
  const calls: unknown[] = Array.isArray(before) ? before : [];
  for (const fragment of fragments) {
    if (!isObject(fragment)) continue;
    const { index, ...fields } = fragment;
    const call: unknown = calls[Number(index)];
    if (isObject(call)) mergeDelta(call, fields);
    else calls[Number(index)] = fields;
  }
  return calls;
}

function writeChoice(index: number, { message, logprobs, finish, native }: Choice): unknown {
  const { content, refusal = null, ...rest } = message;
  // A message without anything else has an empty text.
  const isEmpty = refusal === null && rest.tool_calls === undefined && rest.audio === undefined;
  return {
    index,
    message: { role: 'assistant', content: content ?? (isEmpty ? '' : null), refusal, ...rest },
    logprobs,
    finish_reason: finish,
    ...(native === undefined ? {} : { native_finish_reason: native }),
  };
}
