/** A small playground for key holders: one message, the answer as it streams, and what it cost. */
import { send } from './api.ts';
import { html, messageOf, useMemo, useRef, useSignal } from './kit.ts';
import { Amount } from './money.ts';
import type { ListedModel } from './offered-models.ts';
import { Badge } from './parts.ts';

/** The data of server-sent events, as they come. */
async function* readEvents(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data:')) yield line.slice(5).trim();
  }
}

/** What a chunk adds to the answer. Throws the error that a stream carries. */
function textOf(data: string): string {
  const chunk = JSON.parse(data);
  if (chunk.error) throw new Error(String(chunk.error.message));
  const text: unknown = chunk.choices?.[0]?.delta?.content;
  return typeof text === 'string' ? text : '';
}

/** Sends the form as a streamed call, and keeps what came of it. */
function useAnswer(apiKey: string) {
  const answer = useSignal('');
  const fault = useSignal<string | undefined>(undefined);
  const cost = useSignal<string | undefined>(undefined);
  const running = useRef<AbortController | undefined>(undefined);
  const isRunning = useSignal(false);

  async function ask(event: Event & { currentTarget: HTMLFormElement }): Promise<void> {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const aborting = new AbortController();
    running.current = aborting;
    answer.value = '';
    cost.value = undefined;
    fault.value = undefined;
    isRunning.value = true;
    const headers = { authorization: `Bearer ${apiKey}` };
    try {
      const response = await send('/v1/chat/completions', {
        method: 'POST',
        headers,
        signal: aborting.signal,
        body: {
          model: data.get('model'),
          stream: true,
          messages: [{ role: 'user', content: data.get('text') }],
        },
      });
      const id = response.headers.get('x-request-id') ?? '';
      if (response.body)
        for await (const text of readEvents(response.body))
          if (text !== '[DONE]') answer.value += textOf(text);
      const call: { cost?: string } = await (
        await send(`/v1/calls/${encodeURIComponent(id)}`, { headers })
      ).json();
      cost.value = call.cost;
    } catch (error) {
      if (!aborting.signal.aborted) fault.value = messageOf(error);
    } finally {
      isRunning.value = false;
    }
  }

  return { ask, answer, cost, fault, isRunning, stop: () => running.current?.abort() };
}

export function Playground({
  apiKey,
  models,
}: {
  readonly apiKey: string;
  readonly models: readonly ListedModel[];
}) {
  const texts = useMemo(
    () =>
      models
        .filter(({ architecture: a }) => a?.output_modalities?.includes('text') ?? true)
        .map(({ id }) => id),
    [models],
  );
  const { ask, answer, cost, fault, isRunning, stop } = useAnswer(apiKey);
  return html`<section class="card">
    <form class="form" onSubmit=${ask}>
      <label class="field"
        ><b>Model</b
        ><select name="model">
          ${texts.map((id) => html`<option>${id}</option>`)}
        </select></label
      >
      <label class="field"
        ><b>Message</b><textarea name="text" rows="4" required>Hello! Who are you?</textarea>
      </label>
      <div class="row">
        ${isRunning.value && html`<button type="button" onClick=${stop}>Stop</button>`}
        <button class="primary" disabled=${isRunning.value}>Send</button>
      </div>
    </form>
    <div class="answer" aria-live="polite" aria-busy=${isRunning.value ? 'true' : 'false'}>${answer}</div>
    ${
      cost.value !== undefined &&
      html`<p><${Badge} tone="good">done</${Badge}> It cost <${Amount} usd=${cost.value} />.</p>`
    }
    ${fault.value !== undefined && html`<p class="problem" role="alert">${fault}</p>`}
  </section>`;
}
