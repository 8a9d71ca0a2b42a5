/** Parts of the playground: inputs, the reply, the conversation, and the call as code. */
import { count, duration } from './format.ts';
import { html, messageOf, useSignal, type Signal } from './kit.ts';
import { Amount, decimal, nano } from './money.ts';
import { Badge, Choice, Code } from './parts.ts';
import { codeOf, languages } from './playground-code.ts';
import type { Built, Turn, Wanted } from './playground-requests.ts';
import type { Run } from './playground-run.ts';
import { href } from './router.ts';

export interface ModelList {
  readonly data: readonly {
    readonly id: string;
    readonly output: readonly string[];
    readonly offers: readonly { readonly price: Readonly<Record<string, unknown>> | null }[];
  }[];
}

/** Bytes of a token, as the gateway estimates them too. */
const bytesPerToken = 4;
const million = 1_000_000n;

/** What a running call costs about so far, from its text and the model's prices. */
export function estimate(
  models: ModelList | undefined,
  model: string,
  body: object,
  { said }: Run,
): string | undefined {
  const price = models?.data.find(({ id }) => id === model)?.offers[0]?.price;
  const [input, output] = [price?.input, price?.output];
  if (typeof input !== 'string' || typeof output !== 'string') return undefined;
  const tokens = (characters: number): bigint => BigInt(Math.ceil(characters / bytesPerToken));
  const sent = tokens(JSON.stringify(body).length) * nano(input);
  const got = tokens(said.text.length + said.reasoning.length) * nano(output);
  return decimal((sent + got) / million);
}

interface Input {
  readonly label: string;
  readonly value: Signal<string>;
  readonly rows?: number;
  readonly type?: string;
  readonly placeholder?: string;
}

export function Text({ label, value, rows, type = 'text', placeholder = '' }: Input) {
  const onInput = (event: { currentTarget: HTMLInputElement }): void => {
    value.value = event.currentTarget.value;
  };
  return html`<label class=${rows ? 'editor' : 'filter-field'}
    ><span>${label}</span>${
      rows
        ? html`<textarea
            rows=${rows}
            spellcheck=${false}
            value=${value}
            placeholder=${placeholder}
            onInput=${onInput}
          ></textarea>`
        : html`<input type=${type} step="any" value=${value} placeholder=${placeholder} onInput=${onInput} />`
    }</label
  >`;
}

export async function readPicture(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result)));
    reader.addEventListener('error', () => reject(new Error('The picture could not be read.')));
    reader.readAsDataURL(file);
  });
}

export function Reply({ of, estimated }: { readonly of: Run; readonly estimated: string | undefined }) {
  const { said, status, error, first, took, id, cost, events, headers } = of;
  return html`<section
    class="card reply"
    aria-label="Reply"
    aria-busy=${took === undefined ? 'true' : 'false'}
  >
    <p>
      ${status !== undefined && html`<${Badge} tone=${status === 200 ? 'good' : 'bad'}>${status}</${Badge}> `}
      <span class="dim"
        >first event ${duration(first)}, ${took === undefined ? 'running' : `in all ${duration(took)}`},</span
      >${' '}
      ${
        cost !== undefined
          ? html`cost <${Amount} usd=${cost} />`
          : html`<span class="dim">cost about <${Amount} usd=${estimated} /></span>`
      }
      ${
        id !== undefined &&
        took !== undefined &&
        html` <a class="button" href=${href(['calls', id])}>Show the call</a>`
      }
    </p>
    ${error !== undefined && html`<p class="problem" role="alert">${error}</p>`}
    ${
      said.reasoning !== '' &&
      html`<details open>
        <summary>Reasoning</summary>
        <p class="text dim">${said.reasoning}</p>
      </details>`
    }
    <p class="text" aria-live="polite">${said.text}</p>
    ${said.tools.map(
      ({ name, args }) =>
        html`<p>Calls <code>${name}</code></p>
          <${Code} text=${args} />`,
    )}
    ${said.images.map((url, index) => html`<img src=${url} alt=${`Picture ${index + 1} of the reply`} />`)}
    <details>
      <summary>Raw: ${count(events.length)} events</summary>
      <pre>${headers.map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>
      <pre class="json" tabindex="0">${events.map((each) => each.slice(0, 2000)).join('\n')}</pre>
    </details>
  </section>`;
}

export function Export({
  built,
  wanted,
  base,
  url,
}: {
  built: Built;
  wanted: Wanted;
  base: string;
  url: string;
}) {
  const language = useSignal<string>('curl');
  const { protocol, model, stream } = wanted;
  return html`<section class="card" aria-label="As code">
    <h2>As code</h2>
    <${Choice}
      label="Language"
      options=${languages.map((name) => [name, name])}
      value=${language.value}
      onChange=${(value: string) => (language.value = value)}
    />
    <p class="dim">The key is read from the environment: <code>TOLLGATE_KEY</code>.</p>
    <${Code} text=${codeOf(language.value, { ...built, protocol, model, stream, base, url })} />
  </section>`;
}

export interface Draft {
  readonly system: Signal<string>;
  readonly prompt: Signal<string>;
  readonly maxTokens: Signal<string>;
  readonly temperature: Signal<string>;
  readonly tools: Signal<string>;
  readonly further: Signal<string>;
}

export function figure(text: string): number | undefined {
  return text.trim() === '' || Number.isNaN(Number(text)) ? undefined : Number(text);
}

export function json<Value>(name: string, text: string, fallback: Value): Value {
  if (text.trim() === '') return fallback;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${name}: ${messageOf(error)}`, { cause: error });
  }
}

const exampleTools =
  '[{"name":"get_weather","description":"…","parameters":{"type":"object","properties":{}}}]';

export function Settings({ draft, hasText }: { readonly draft: Draft; readonly hasText: boolean }) {
  return html`${hasText && html`<${Text} label="System" value=${draft.system} rows=${2} />`}
    <details>
      <summary>Parameters and tools</summary>
      ${
        hasText &&
        html`<div class="order">
            <${Text} label="Longest reply (tokens)" value=${draft.maxTokens} type="number" />
            <${Text} label="Temperature" value=${draft.temperature} type="number" />
          </div>
          <${Text} label="Tools (JSON)" value=${draft.tools} rows=${4} placeholder=${exampleTools} />`
      }
      <${Text}
        label="Further fields of the body (JSON)"
        value=${draft.further}
        rows=${3}
        placeholder='{"seed": 7}'
      />
    </details>`;
}

export function Conversation({ turns, clear }: { readonly turns: readonly Turn[]; clear(): void }) {
  if (turns.length === 0) return null;
  return html`<section class="card reply" aria-label="Conversation">
    ${turns.map(
      ({ role, text, images }) =>
        html`<p class="text">
          <strong>${role}</strong> ${text} ${images.length > 0 && `(${images.length} pictures)`}
        </p>`,
    )}
    <button class="quiet" onClick=${clear}>Start over</button>
  </section>`;
}
