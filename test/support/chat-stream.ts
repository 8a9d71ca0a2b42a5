/** The stream of a provider of chat completions, for tests that write it chunk by chunk. */

/** A chunk with these choices. */
export function buildChunk(choices: readonly object[], more: object = {}): string {
  const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' };
  return `data: ${JSON.stringify({ ...head, choices, ...more })}\n\n`;
}

/** A chunk with one choice. */
export function chunk(delta: object, finish: string | null = null, more: object = {}): string {
  return buildChunk([{ index: 0, delta, finish_reason: finish }], more);
}

/** The end of a stream: its usage and `[DONE]`. */
export function ending(usage: object): string {
  return `${buildChunk([], { usage })}data: [DONE]\n\n`;
}
