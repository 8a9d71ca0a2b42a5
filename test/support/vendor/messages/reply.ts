/**
 * Both forms of a reply: the message object, and the events in the vendor's order with its pings and its
 * padding.
 */
import type { Frame } from '../delivery.ts';
import { stageFrames, type SentEvent } from '../sending.ts';
import type { Composition, ToldBlock } from './composition.ts';
import { buildErrorBody } from './refusals.ts';

const extras = { service_tier: 'standard', inference_geo: 'not_available' };

export function buildMessage({ id, model, blocks, stop, input, output, scenario }: Composition): object {
  const usage = scenario.usage === 'missing' ? {} : { usage: { ...input, ...output, ...extras } };
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: blocks.map(({ whole }) => whole),
    ...stop,
    ...usage,
  };
}

/** One named event; the vendor pads its objects with spaces of no meaning. */
function event(type: string, data: object = {}, tokens = 0): SentEvent {
  const text = JSON.stringify({ type, ...data });
  const padding = ' '.repeat(text.length % 7);
  return { frame: `event: ${type}\ndata: ${text.slice(0, -1)}${padding}}\n\n`, tokens };
}

const ping: SentEvent = { frame: 'event: ping\ndata: {"type": "ping"}\n\n', tokens: 0 };

function* streamBlock(
  { start, deltas, broken }: ToldBlock,
  index: number,
  endless: boolean,
): Generator<SentEvent> {
  yield event('content_block_start', { index, content_block: start });
  if (index === 0) yield ping;
  for (const { delta, tokens } of deltas) yield event('content_block_delta', { index, delta }, tokens);
  const last = deltas.at(-1);
  if (endless && last && 'type' in last.delta && last.delta.type === 'text_delta') {
    for (;;) yield event('content_block_delta', { index, delta: last.delta }, 1);
  }
  if (!broken) yield event('content_block_stop', { index });
}

function* streamEvents(composition: Composition): Generator<SentEvent> {
  const { id, model, blocks, stop, input, output, scenario } = composition;
  const honest = scenario.usage !== 'missing';
  const usage = honest ? { usage: { ...input, output_tokens: 1, ...extras } } : {};
  const head = {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
  };
  yield event('message_start', { message: { ...head, ...usage } });
  for (const [index, block] of blocks.entries()) yield* streamBlock(block, index, scenario.endless ?? false);
  const { cache_creation: _split, ...totals } = input;
  yield event('message_delta', { delta: stop, ...(honest ? { usage: { ...totals, ...output } } : {}) });
  yield event('message_stop');
}

export function streamFrames(composition: Composition, requestId: string): Generator<Frame> {
  const { scenario } = composition;
  return stageFrames(streamEvents(composition), scenario, () => {
    const error = buildErrorBody(
      { type: 'overloaded_error', message: 'Overloaded', ...scenario.fail?.error },
      requestId,
    );
    return [`event: error\ndata: ${JSON.stringify(error)}\n\n`];
  });
}
