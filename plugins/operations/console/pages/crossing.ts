/**
 * Translation: a request of any protocol, and what the gateway would send for it, to each provider of a model
 * and by each wire. What a wire drops or changes is marked in the request itself. Nothing is sent.
 */
import type { Crossing, CrossingPreview } from '../../../shared/replies/crossing.ts';
import { ApiError, call, useData, type Facts } from './api.ts';
import { renderCheckbox, bindQuery, chooseView, renderInput, renderSelect, bindState } from './form.ts';
import { html, getMessage, useEffect, useSignal, useMemo, setQuery, type Place } from './kit.ts';
import { renderLosses, renderJson, parseJson, placeLosses } from './marked-json.ts';
import { renderBadge, renderHead, renderProblem, renderState } from './parts.ts';
import { buildRequest, findForm, findOutput, isFor, listPlayable } from './playground-requests.ts';
import { buildColumn, type Column, renderTable } from './table.ts';

interface Row {
  readonly group: string;
  readonly name: string;
  readonly cells: Readonly<Record<string, string>>;
}

/** The wires of vendors that clients of a protocol reach, each once. */
const listWires = (rows: readonly Row[] | undefined): string[] => [
  ...new Set(rows?.flatMap(({ cells }) => Object.keys(cells))),
];

const buildColumns = (wires: readonly string[]): readonly Column<Row>[] => [
  buildColumn('Group', 'group'),
  buildColumn('Capability', 'name'),
  ...wires.map((wire) =>
    buildColumn<Row>(
      `To ${wire}`,
      ({ cells }) => cells[wire],
      ({ cells: { [wire]: outcome } }) =>
        outcome === undefined ? html`<span class="dim">–</span>` : renderState(outcome),
    ),
  ),
];

function CapabilityTable() {
  const { data, error } = useData('GET /admin/capabilities');
  const state = bindQuery('client', 'chat-completions');
  const client = state.value;
  const rows = useMemo(
    () =>
      data?.groups.flatMap(({ name: group, capabilities }) =>
        capabilities.flatMap(({ name, cells }): Row[] => {
          const own = cells[client];
          return own ? [{ group, name, cells: own }] : [];
        }),
      ),
    [data, client],
  );
  const columns = useMemo(() => buildColumns(listWires(rows)), [rows]);
  const clients = useMemo(
    () => [
      ...new Set(
        data?.groups.flatMap(({ capabilities }) => capabilities.flatMap(({ cells }) => Object.keys(cells))),
      ),
    ],
    [data],
  );
  return html`<p class="dim">
      Measured by calls to strict fakes of the providers. What is lost is always reported to the client; “–”
      means not applicable.
    </p>
    ${renderTable({
      name: 'Capabilities',
      columns,
      rows,
      error,
      empty: 'There are no measurements for this protocol.',
      tools: renderSelect('Protocol of the client', clients.length > 0 ? clients : [client], state),
    })}`;
}

/** A request of each protocol that shows much of what has to cross. */
const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9' +
  'awAAAABJRU5ErkJggg==';

const system = 'Answer in one sentence.';

/** Fields that a protocol has for itself. */
const own: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'chat-completions': { seed: 7, logit_bias: { 50256: -100 }, reasoning_effort: 'low' },
  responses: {
    reasoning: { effort: 'low', summary: 'auto' },
    text: { verbosity: 'low' },
    top_logprobs: 2,
  },
  messages: {
    system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }],
    top_k: 40,
    stop_sequences: ['END'],
  },
  'generate-content': {
    generationConfig: { maxOutputTokens: 500, temperature: 0.7, topK: 40, candidateCount: 1, seed: 7 },
    safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  },
  images: { prompt: 'A cat that guards a gate, as a woodcut.' },
};

function formatExample(protocol: string, facts: Facts): string {
  const form = findForm(facts, protocol);
  const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const { body } = buildRequest(
    {
      protocol,
      model: '',
      stream: false,
      system,
      turns: [{ role: 'user', text: 'What is the weather where this was taken?', images: [picture] }],
      tools: [{ name: 'get_weather', description: 'The weather of a city.', parameters: city }],
      maxTokens: 500,
      temperature: 0.7,
      further: own[protocol] ?? {},
      ...(form && { form, fields: form.example }),
    },
    '',
  );
  // The page names the model.
  const { model: _model, ...example } = body;
  return JSON.stringify(example, null, 2);
}

/** Milliseconds between the last keystroke and the request for a preview. */
const pause = 400;

const buildKey = ({ provider, model, wire }: Crossing): string => [provider, model, wire].join(' ');

function renderError({ status, body }: NonNullable<Crossing['error']>) {
  return html`<p>${renderBadge(status, 'bad')} The client gets:</p>
    ${renderJson('Error reply', JSON.stringify(body))}`;
}

function renderRequest({ method, url, headers, body }: NonNullable<Crossing['request']>, label: string) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return html`<p class="mono">${method} ${url ?? '(no endpoint)'}</p>
    <details>
      <summary>Headers</summary>
      <pre>${lines.join('\n')}</pre>
      <p class="dim">The provider's credential is added when a call is sent.</p>
    </details>
    ${renderJson(label, body)}`;
}

/** A wire of a provider: what it is sent, and what is lost. */
function renderCrossing(of: Crossing, isShown: boolean, show: () => void) {
  const { provider, wire, model, isChosen, isSpoken, lane, request, losses, error } = of;
  const name = `${provider} by ${wire}`;
  const verdict =
    losses.length === 0
      ? renderBadge('nothing lost', 'good')
      : renderBadge(`${losses.length} lost or changed`, 'warn');
  return html`<section
    class=${`card crossing ${isShown ? 'shown' : ''}`}
    aria-label=${name}
    key=${buildKey(of)}
  >
    <h3>${provider} <span class="dim">by</span> ${wire}</h3>
    <p class="dim">${model}</p>
    <p>
      ${isChosen && renderBadge('chosen', 'good')} ${!isSpoken && renderBadge('not spoken here')}
      ${lane && html` ${renderBadge(lane)} ${verdict}`}
    </p>
    <button aria-pressed=${String(isShown)} onClick=${show}>Mark in the request</button>
    ${renderLosses(losses)} ${error && renderError(error)}
    ${
      lane === 'estimated' &&
      html`<p>The provider does not count tokens, so the gateway returns an estimate.</p>`
    }
    ${request && renderRequest(request, `Body for ${name}`)}
  </section>`;
}

function Result({ preview, text }: { readonly preview: CrossingPreview; readonly text: string }) {
  const shown = useSignal<string | undefined>(undefined);
  const { crossings, error, omitted } = preview;
  if (error) return html`<section class="card">${renderError(error)}</section>`;
  const marked =
    crossings.find((each) => buildKey(each) === shown.value) ??
    crossings.find(({ losses }) => losses.length > 0) ??
    crossings[0];
  const losses = marked?.losses ?? [];
  const { elsewhere } = placeLosses(parseJson(text), losses);
  const legend = losses.length === 0 ? 'Nothing to mark: nothing is lost to' : 'Marked: what is lost to';
  return html`<div class="crossings">
      <section class="card crossing" aria-label="The request">
        <h3>The client sends</h3>
        ${marked && html`<p class="dim">${legend} ${marked.provider} by ${marked.wire}.</p>`}
        ${renderJson('Request with marks', text, losses)}
        ${elsewhere.length > 0 && html`<p>Not in the body:</p>`}
        ${elsewhere.length > 0 && renderLosses(elsewhere)}
      </section>
      ${crossings.map((each) => renderCrossing(each, each === marked, () => (shown.value = buildKey(each))))}
    </div>
    ${crossings.length === 0 && html`<p class="empty">No provider offers this model.</p>`}
    ${omitted > 0 && html`<p class="dim">${omitted} more are not shown.</p>`}`;
}

/** Requests a preview a moment after the last change; a later change discards the reply. */
function usePreview(order: { readonly body: string } | undefined) {
  const preview = useSignal<{ readonly of: CrossingPreview; readonly text: string } | undefined>(undefined);
  const fault = useSignal<string | undefined>(undefined);
  useEffect(
    () => {
      if (!order) return undefined;
      let isCurrent = true;
      const ask = async (): Promise<void> => {
        try {
          const of = await call('POST /admin/crossing', {}, order);
          if (!isCurrent) return;
          preview.value = { of, text: order.body };
          fault.value = undefined;
        } catch (error) {
          if (isCurrent) fault.value = getMessage(error);
        }
      };
      const timer = setTimeout(() => void ask(), pause);
      return () => {
        isCurrent = false;
        clearTimeout(timer);
      };
    },
    Object.values(order ?? {}),
  );
  return { preview: preview.value, fault: fault.value };
}

const operations = [
  ['generate', 'generate'],
  ['count', 'count tokens'],
] as const;

function Editor({ place: { query }, facts }: { readonly place: Place; readonly facts: Facts }) {
  const playable = listPlayable(facts);
  const protocol = playable.find((name) => name === query.protocol) ?? playable[0] ?? '';
  const { data: models, error } = useData('GET /admin/models');
  const text = useSignal(formatExample(protocol, facts));
  const operation = useSignal('generate');
  const everyWire = useSignal(true);
  const produced = findOutput(facts, protocol);
  const fitting = models?.data.filter(({ output }) => isFor(produced, output, facts)).map(({ id }) => id);
  const model = bindQuery('model', fitting?.[0]);
  const order =
    model.value === ''
      ? undefined
      : {
          protocol,
          body: text.value,
          model: model.value,
          operation: operation.value,
          everyWire: everyWire.value,
        };
  const { preview, fault } = usePreview(order);
  const chosen = bindState(
    () => protocol,
    (next) => {
      setQuery({ protocol: next, ...(findOutput(facts, next) !== produced && { model: undefined }) });
      text.value = formatExample(next, facts);
      // Not every protocol counts tokens.
      operation.value = 'generate';
    },
  );
  // Without the catalogue there are no names to suggest, which is not an error.
  const isMissing = error instanceof ApiError && error.status === 404;
  return html`<p class="dim">What would be sent for a request. Nothing is sent, reserved or charged.</p>
    <div class="order">
      ${renderSelect('Protocol', playable, chosen)} ${renderInput('Model', model, { suggest: fitting })}
      ${renderSelect('Operation', produced === 'text' ? operations : operations.slice(0, 1), operation)}
      ${renderCheckbox('All protocols, also those the provider does not speak', everyWire)}
    </div>
    ${renderInput('Request body (JSON)', text, { rows: 14 })} ${!isMissing && renderProblem(error)}
    ${renderProblem(fault)} ${preview && html`<${Result} preview=${preview.of} text=${preview.text} />`}
    ${order && !preview && !fault && html`<p class="empty" aria-busy="true">Loading …</p>`}`;
}

export function Page({ place }: { readonly place: Place }) {
  const { data: facts, error } = useData('GET /console/facts');
  const { choice, render } = chooseView(bindQuery('view', 'request'), [
    ['request', 'A request', () => facts && html`<${Editor} place=${place} facts=${facts} />`],
    ['capabilities', 'Capabilities', () => html`<${CapabilityTable} />`],
  ]);
  return html`${renderHead('Translation', choice)} ${renderProblem(error)} ${render()}`;
}
