/** Parts of the playground: inputs, the reply, the conversation, and the call as code. */
import { renderChoice, renderInput } from './controls.ts';
import { formatDuration, formatThings } from './format.ts';
import { html, getMessage, useSignal, type Signal } from './kit.ts';
import { formatUsd, parseUsd, renderUsd } from './money.ts';
import { renderBadge, renderCode, renderProblem } from './parts.ts';
import { formatCode, languages, type Source } from './playground-code.ts';
import type { Turn } from './playground-requests.ts';
import type { Run } from './playground-run.ts';
import { buildHref } from './router.ts';

/** A model with its prices per million tokens, if they are known. */
export interface PricedModel {
  readonly id: string;
  readonly input: string | null;
  readonly output: string | null;
}

/** Bytes of a token, as the gateway estimates them too. */
const bytesPerToken = 4;
const million = 1_000_000n;

/** What a running call costs about so far, from its text and the model's prices. */
export function estimateCost(
  price: PricedModel | undefined,
  body: object,
  { said }: Run,
): string | undefined {
  if (!price?.input || !price.output) return undefined;
  const estimateTokens = (characters: number): bigint => BigInt(Math.ceil(characters / bytesPerToken));
  const sent = estimateTokens(JSON.stringify(body).length) * parseUsd(price.input);
  const got = estimateTokens(said.text.length + said.reasoning.length) * parseUsd(price.output);
  return formatUsd((sent + got) / million);
}

export async function readPicture(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result)));
    reader.addEventListener('error', () => reject(new Error('The picture could not be read.')));
    reader.readAsDataURL(file);
  });
}

/** The first line of a reply: its status, its times and its cost. */
function renderFirstLine({ status, first, took, cost }: Run, estimated: string | undefined) {
  const whole = took === undefined ? 'running' : `in all ${formatDuration(took)}`;
  return html`${status !== undefined && renderBadge(status, status === 200 ? 'good' : 'bad')}
    <span class="dim"> first event ${formatDuration(first)}, ${whole}, </span>
    ${
      cost === undefined
        ? html`<span class="dim">cost about ${renderUsd(estimated)}</span>`
        : html`cost ${renderUsd(cost)}`
    }`;
}

/** `isLinked`: whether there is a page of the call. */
export function renderReply(run: Run, estimated: string | undefined, isLinked: boolean) {
  const { said, error, took, id, events, headers } = run;
  const reasoning = html`<details open>
    <summary>Reasoning</summary>
    <p class="text dim">${said.reasoning}</p>
  </details>`;
  return html`<section class="card reply" aria-label="Reply" aria-busy=${String(took === undefined)}>
    <p>
      ${renderFirstLine(run, estimated)}
      ${
        isLinked &&
        id !== undefined &&
        took !== undefined &&
        html` <a class="button" href=${buildHref(['calls', id])}>Show the call</a>`
      }
    </p>
    ${renderProblem(error)} ${said.reasoning !== '' && reasoning}
    <p class="text" aria-live="polite">${said.text}</p>
    ${said.tools.map(
      ({ name, args }) =>
        html`<p>Calls <code>${name}</code></p>
          ${renderCode(args)}`,
    )}
    ${said.images.map((url, index) => html`<img src=${url} alt=${`Picture ${index + 1} of the reply`} />`)}
    <details>
      <summary>Raw: ${formatThings(events.length, 'event')}</summary>
      <pre>${headers.map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>
      <pre class="json" tabindex="0">${events.map((each) => each.slice(0, 2000)).join('\n')}</pre>
    </details>
  </section>`;
}

export function Export({ source }: { readonly source: Source }) {
  const language = useSignal<string>('curl');
  return html`<section class="card" aria-label="As code">
    <h2>As code</h2>
    ${renderChoice('Language', languages, language)}
    <p class="dim">The key is read from the environment: <code>TOLLGATE_KEY</code>.</p>
    ${renderCode(formatCode(language.value, source))}
  </section>`;
}

export type Draft = Readonly<
  Record<'system' | 'prompt' | 'maxTokens' | 'temperature' | 'tools' | 'further', Signal<string>>
>;

export function readNumber(text: string): number | undefined {
  return text.trim() === '' || Number.isNaN(Number(text)) ? undefined : Number(text);
}

/** A list or an object, as the fallback is. */
export function readJson<Value extends object>(name: string, text: string, fallback: Value): Value {
  if (text.trim() === '') return fallback;
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${name}: ${getMessage(error)}`, { cause: error });
  }
  const isList = Array.isArray(fallback);
  if (typeof value === 'object' && value !== null && Array.isArray(value) === isList) return value;
  throw new Error(`${name}: ${isList ? 'a list' : 'an object'} is needed here.`);
}

const exampleTools =
  '[{"name":"get_weather","description":"…","parameters":{"type":"object","properties":{}}}]';

export function renderSettings({ system, maxTokens, temperature, tools, further }: Draft, hasText: boolean) {
  const number = { type: 'number', isLive: true };
  const ofText = html`<div class="order">
      ${renderInput('Max output (tokens)', maxTokens, number)}
      ${renderInput('Temperature', temperature, number)}
    </div>
    ${renderInput('Tools (JSON)', tools, { rows: 4, placeholder: exampleTools })}`;
  return html`${hasText && renderInput('System', system, { rows: 2 })}
    <details>
      <summary>Parameters and tools</summary>
      ${hasText && ofText}
      ${renderInput('Further fields of the body (JSON)', further, { rows: 3, placeholder: '{"seed": 7}' })}
    </details>`;
}

export function renderConversation(turns: readonly Turn[], clear: () => void) {
  if (turns.length === 0) return null;
  const renderTurn = ({ role, text, images }: Turn) =>
    html`<p class="text">
      <strong>${role}</strong> ${text} ${images.length > 0 && `(${formatThings(images.length, 'picture')})`}
    </p>`;
  return html`<section class="card reply" aria-label="Conversation">
    ${turns.map(renderTurn)}
    <button class="quiet" onClick=${clear}>Start over</button>
  </section>`;
}
