/**
 * The reply as a stream: named events, numbered from 0, with the padding the vendor adds to deltas, and no
 * `[DONE]`.
 */
import type { Frame } from '../delivery.ts';
import { stageFrames, type SentEvent } from '../sending.ts';
import type { Composition } from './composition.ts';
import type { ItemGroup } from './output.ts';

type Data = Readonly<Record<string, unknown>>;

function buildFrame(type: string, data: Data): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

interface Numbered {
  (type: string, data: Data, tokens?: number): SentEvent;
}

function* streamGroup(
  { items, events }: ItemGroup,
  first: number,
  tell: Numbered,
  padded: boolean,
  endless: boolean,
): Generator<SentEvent> {
  for (const [index, { start }] of items.entries())
    yield tell('response.output_item.added', { output_index: first + index, item: start });
  for (const { type, data, tokens, item } of events) {
    const { padded: padding, ...rest } = data;
    const body = {
      item_id: items[item]?.id,
      output_index: first + item,
      ...rest,
      ...(padding && padded ? { obfuscation: 'Rk3vT0xQ9b' } : {}),
    };
    yield tell(type, body, tokens);
    if (endless && type === 'response.output_text.delta') for (;;) yield tell(type, body, 1);
  }
  for (const [index, { whole }] of items.entries())
    yield tell('response.output_item.done', { output_index: first + index, item: whole });
}

function* streamEvents({ request, scenario, groups, opened, finished }: Composition): Generator<SentEvent> {
  let number = 0;
  const tell: Numbered = (type, data, tokens = 0) => {
    const frame = buildFrame(type, { sequence_number: number, ...data });
    number += 1;
    return { frame, tokens };
  };
  yield tell('response.created', { response: opened });
  yield tell('response.in_progress', { response: opened });
  let first = 0;
  for (const group of groups) {
    yield* streamGroup(
      group,
      first,
      tell,
      request.stream_options?.include_obfuscation ?? true,
      scenario.endless ?? false,
    );
    first += group.items.length;
  }
  yield tell(`response.${String(finished.status)}`, { response: finished });
}

/** As recorded: an event that says what went wrong, then the response, failed. */
export function streamFrames(composition: Composition): Generator<Frame> {
  const { scenario, opened } = composition;
  return stageFrames(streamEvents(composition), scenario, (sent) => {
    const error = {
      type: 'server_error',
      code: 'server_error',
      message: 'The server had an error while processing your request.',
      param: null,
      ...scenario.fail?.error,
    };
    const response = { ...opened, status: 'failed', error: { code: error.code, message: error.message } };
    return [
      buildFrame('error', { sequence_number: sent, error }),
      buildFrame('response.failed', { sequence_number: sent + 1, response }),
    ];
  });
}
