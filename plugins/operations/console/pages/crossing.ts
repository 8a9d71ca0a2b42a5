/**
 * Crossing: a request of any protocol, and what the gateway would send for it, to each provider of a model
 * and by each wire. What a wire drops or changes is marked in the request itself. Nothing is sent.
 */
import { ApiError, api, useData } from './api.ts';
import { CapabilityTable } from './capabilities.ts';
import { exampleRequests } from './example-requests.ts';
import { html, messageOf, useEffect, useSignal, takeText, takeChecked } from './kit.ts';
import { MarkedJson, placeLosses, wordOf, type Loss } from './marked-json.ts';
import { Badge, Choice, Fault, Head, Select } from './parts.ts';
import { setQuery, type Place } from './router.ts';

interface ErrorReply {
  readonly status: number;
  readonly body: unknown;
}

interface Crossing {
  readonly provider: string;
  readonly model: string;
  readonly wire: string;
  readonly isChosen: boolean;
  readonly isSpoken: boolean;
  readonly lane?: 'verbatim' | 'translated' | 'estimated';
  readonly request?: {
    readonly method: string;
    readonly url?: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
  readonly losses: readonly Loss[];
  readonly error?: ErrorReply;
}

interface Preview {
  readonly error?: ErrorReply;
  readonly crossings: readonly Crossing[];
  readonly omitted: number;
}

interface ModelList {
  readonly data: readonly { readonly id: string }[];
}

const protocols = Object.keys(exampleRequests);
const example = (protocol: string): string => JSON.stringify(exampleRequests[protocol] ?? {}, null, 2);
/** Milliseconds after the last key before the preview is asked for. */
const pause = 400;

const keyOf = ({ provider, model, wire }: Crossing): string => [provider, model, wire].join(' ');

function ErrorBody({ of: { status, body } }: { readonly of: ErrorReply }) {
  return html`<p><${Badge} tone="bad">${status}</${Badge}> The client gets:</p>
    <${MarkedJson} label="Error reply" text=${JSON.stringify(body)} />`;
}

function LossList({ of }: { readonly of: readonly Loss[] }) {
  return html`<ul class="losses">
    ${of.map(
      (loss) =>
        html`<li>
          <${Badge} tone=${wordOf(loss) === 'dropped' ? 'bad' : 'warn'}>${wordOf(loss)}</${Badge}>${' '}
          <code>${loss.path}</code>
          <span class="dim"> ${loss.reason}</span>
        </li>`,
    )}
  </ul>`;
}

function Column(props: { readonly of: Crossing; readonly isShown: boolean; onShow(): void }) {
  const { of, isShown, onShow } = props;
  const { provider, wire, model, isChosen, isSpoken, lane, request, losses, error } = of;
  return html`<section
    class=${isShown ? 'card crossing shown' : 'card crossing'}
    aria-label=${`${provider} by ${wire}`}
  >
    <h3>${provider} <span class="dim">by</span> ${wire}</h3>
    <p class="dim">${model}</p>
    <p>
      ${isChosen && html`<${Badge} tone="good">chosen</${Badge}> `}
      ${!isSpoken && html`<${Badge}>not spoken here</${Badge}> `}
      ${lane && html`<${Badge}>${lane}</${Badge}> `}
      ${
        lane &&
        html`<${Badge} tone=${losses.length === 0 ? 'good' : 'warn'}
          >${losses.length === 0 ? 'nothing lost' : `${losses.length} lost or changed`}</${Badge}
        >`
      }
    </p>
    <button aria-pressed=${isShown ? 'true' : 'false'} onClick=${onShow}>Mark in the request</button>
    <${LossList} of=${losses} />
    ${error && html`<${ErrorBody} of=${error} />`}
    ${
      lane === 'estimated' &&
      html`<p>The provider counts no tokens; the gateway answers with an estimate.</p>`
    }
    ${
      request &&
      html`<p class="mono">${request.method} ${request.url ?? '(no endpoint)'}</p>
        <details>
          <summary>Headers</summary>
          <pre>
${Object.entries(request.headers)
              .map(([name, value]) => `${name}: ${value}`)
              .join('\n')}</pre>
          <p class="dim">The provider's credential is added when a call is sent.</p>
        </details>
        <${MarkedJson} label=${`Body for ${provider} by ${wire}`} text=${request.body} />`
    }
  </section>`;
}

function Result({ preview, text }: { readonly preview: Preview; readonly text: string }) {
  const shown = useSignal<string | undefined>(undefined);
  const { crossings, error, omitted } = preview;
  if (error) return html`<section class="card"><${ErrorBody} of=${error} /></section>`;
  const marked =
    crossings.find((each) => keyOf(each) === shown.value) ??
    crossings.find(({ losses }) => losses.length > 0) ??
    crossings[0];
  const elsewhere = marked ? placeLosses(parsed(text), marked.losses).elsewhere : [];
  return html`<div class="crossings">
      <section class="card crossing" aria-label="The request">
        <h3>The client sends</h3>
        ${
          marked &&
          html`<p class="dim">
            ${marked.losses.length === 0 ? 'Nothing to mark: nothing is lost to' : 'Marked: what is lost to'}
            ${` ${marked.provider} by ${marked.wire}.`}
          </p>`
        }
        <${MarkedJson} label="Request with marks" text=${text} losses=${marked?.losses ?? []} />
        ${
          elsewhere.length > 0 &&
          html`<p>Not in the body:</p>
            <${LossList} of=${elsewhere} />`
        }
      </section>
      ${crossings.map(
        (each) =>
          html`<${Column}
            key=${keyOf(each)}
            of=${each}
            isShown=${each === marked}
            onShow=${() => (shown.value = keyOf(each))}
          />`,
      )}
    </div>
    ${crossings.length === 0 && html`<p class="empty">No provider offers this model.</p>`}
    ${omitted > 0 && html`<p class="dim">${omitted} more are not shown.</p>`}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Order {
  readonly protocol: string;
  readonly body: string;
  readonly model: string;
  readonly operation: string;
  readonly everyWire: boolean;
}

/** Asks the gateway for a preview a moment after the last change; a later change discards the answer. */
function usePreview(order: Order | undefined) {
  const preview = useSignal<{ readonly of: Preview; readonly text: string } | undefined>(undefined);
  const fault = useSignal<string | undefined>(undefined);
  useEffect(
    () => {
      if (!order) return undefined;
      const stop = new AbortController();
      const timer = setTimeout(() => {
        api.post<Preview>('/admin/crossing', order).then(
          (of) => {
            if (stop.signal.aborted) return;
            preview.value = { of, text: order.body };
            fault.value = undefined;
          },
          (error: unknown) => {
            if (!stop.signal.aborted) fault.value = messageOf(error);
          },
        );
      }, pause);
      return () => {
        stop.abort();
        clearTimeout(timer);
      };
    },
    Object.values(order ?? {}),
  );
  return { preview, fault };
}

const operations = [
  ['generate', 'generate'],
  ['count', 'count tokens'],
] as const;

function ModelInput({ model, models }: { readonly model: string; readonly models: ModelList | undefined }) {
  return html`<label class="filter-field"
      ><span>Model</span
      ><input
        list="crossing-models"
        value=${model}
        spellcheck=${false}
        onChange=${takeText((text) => setQuery({ model: text.trim() }))}
    /></label>
    <datalist id="crossing-models">${models?.data.map(({ id }) => html`<option value=${id} />`)}</datalist>`;
}

function Editor({ place: { query } }: { readonly place: Place }) {
  const protocol = protocols.includes(query.protocol ?? '') ? (query.protocol ?? '') : 'chat-completions';
  const models = useData<ModelList>('/admin/models');
  const text = useSignal(example(protocol));
  const operation = useSignal('generate');
  const everyWire = useSignal(true);
  const model = query.model ?? models.data?.data[0]?.id ?? '';
  const order = {
    protocol,
    body: text.value,
    model,
    operation: operation.value,
    everyWire: everyWire.value,
  };

  const { preview, fault } = usePreview(model === '' ? undefined : order);

  const change = (next: string): void => {
    setQuery({ protocol: next });
    text.value = example(next);
  };
  return html`<div class="order">
      <${Select}
        label="Protocol"
        options=${protocols.map((name) => [name, name])}
        value=${protocol}
        onChange=${change}
      />
      <${ModelInput} model=${model} models=${models.data} />
      <${Select}
        label="Operation"
        options=${protocol === 'images' ? operations.slice(0, 1) : operations}
        value=${operation.value}
        onChange=${(value: string) => (operation.value = value)}
      />
      <label class="check"
        ><input
          type="checkbox"
          checked=${everyWire}
          onChange=${takeChecked((isChecked) => (everyWire.value = isChecked))}
        />
        Every wire, also those the provider does not speak</label
      >
    </div>
    <label class="editor"
      ><span>Request body (JSON)</span
      ><textarea
        rows="14"
        spellcheck=${false}
        value=${text}
        onInput=${takeText((next) => (text.value = next))}
      ></textarea>
    </label>
    <${Fault}
      error=${models.error instanceof ApiError && models.error.status === 404 ? undefined : models.error}
    />
    ${fault.value !== undefined && html`<p class="problem" role="alert">${fault.value}</p>`}
    ${preview.value && html`<${Result} preview=${preview.value.of} text=${preview.value.text} />`}`;
}

export function Page({ place }: { readonly place: Place }) {
  const view = place.query.view === 'capabilities' ? 'capabilities' : 'request';
  return html`<${Head} title="Crossing">
      <${Choice}
        label="View"
        options=${[
          ['request', 'A request'],
          ['capabilities', 'Capabilities'],
        ]}
        value=${view}
        onChange=${(value: string) => setQuery({ view: value })}
      />
    </${Head}>
    ${
      view === 'capabilities'
        ? html`<${CapabilityTable} client=${place.query.client ?? 'chat-completions'} />`
        : html`<p class="dim">What would be sent for a request. Nothing is sent, reserved or charged.</p>
            <${Editor} place=${place} />`
    }`;
}
