/** The playground: real calls in any protocol, with a key, and the same call as code. */
import type { CallForm } from '../../../shared/replies/call-form.ts';
import { ApiError, call, session, useData, type Facts, mayChange } from './api.ts';
import { getPublicUrl, formatCode, languages, type Source } from './client-settings.ts';
import { readFields, renderFields, type Written } from './form-fields.ts';
import {
  renderCheckbox,
  bindQuery,
  bindState,
  renderInput,
  renderSelect,
  renderChoice,
  renderForm,
  type Values,
} from './form.ts';
import {
  findRate,
  sumAmounts,
  renderUsd,
  formatDuration,
  formatThings,
  formatUsd,
  parseUsd,
} from './format.ts';
import {
  effect,
  html,
  getMessage,
  signal,
  useSignal,
  type ComponentChildren,
  type Signal,
  buildHref,
  notify,
  setQuery,
} from './kit.ts';
import { renderJson } from './marked-json.ts';
import { renderHead, renderProblem, renderBadge, renderCode } from './parts.ts';
import {
  buildRequest,
  findForm,
  findOutput,
  isFor,
  listPlayable,
  type Built,
  type Tool,
  type Turn,
  type Wanted,
} from './playground-requests.ts';
import { startRun, type CallPlace, type Running, type Run } from './playground-run.ts';

export const playgroundKey = signal('');
const keyField = { name: 'key', label: 'Key', type: 'password', isRequired: true } as const;
const lifetime = 3_600_000;

async function createKey({ account, spendCap }: Values): Promise<void> {
  const expires = new Date(Date.now() + lifetime).toISOString();
  const order = { account, name: 'Playground', limits: { expires, spendCap } };
  const { key } = await call('POST /admin/keys', {}, order);
  playgroundKey.value = key;
  notify('A key for one hour was made');
}

const ways = [
  ['create', 'Make a key for an hour'],
  ['paste', 'Paste a key'],
] as const;

function KeyChooser() {
  const way = useSignal(mayChange('POST /admin/keys') ? 'create' : 'paste');
  const accounts = useData('GET /admin/accounts', { limit: 1000 });
  if (playgroundKey.value !== '')
    return html`<p>
      ${renderBadge('key ready', 'good')} <code>…${playgroundKey.value.slice(-4)}</code>
      <button class="quiet" onClick=${() => (playgroundKey.value = '')}>Use another</button>
    </p>`;
  const names = accounts.data?.data.map(({ account }) => account) ?? [];
  const paste = () =>
    renderForm(
      {
        fields: [{ ...keyField, hint: 'Never stored: it stays in this page.' }],
        submit: 'Use this key',
        send: async ({ key }) => void (playgroundKey.value = String(key)),
      },
      'paste',
    );
  const create = () =>
    renderForm(
      {
        fields: [
          { name: 'account', label: 'Account', type: 'select', options: names, isRequired: true },
          { name: 'spendCap', label: 'At most (USD)' },
        ],
        values: { spendCap: '1' },
        submit: 'Make a key',
        send: createKey,
      },
      `create ${names.length}`,
    );
  const noAccount = html`<p>
    There is no account yet. <a href=${buildHref('accounts')}>Create the first one.</a>
  </p>`;
  return html`<section class="card" aria-label="Key">
    <p>Calls of the playground are real: they need a key, and its account pays.</p>
    ${renderProblem(accounts.error)} ${mayChange('POST /admin/keys') && renderChoice('Key', ways, way)}
    ${way.value === 'paste' && paste()} ${way.value === 'create' && names.length > 0 && create()}
    ${way.value === 'create' && accounts.data?.data.length === 0 && noAccount}
  </section>`;
}

/** A model with its prices per million tokens, if they are known. */
interface PricedModel {
  readonly id: string;
  readonly input: string | null;
  readonly output: string | null;
  /** What it makes, if that is known. */
  readonly makes?: readonly string[] | undefined;
}

/** Bytes of a token, as the gateway estimates them too. */
const bytesPerToken = 4;
const million = 1_000_000n;

/** What a running call costs about so far, from its text and the model's prices. */
function estimateCost(price: PricedModel | undefined, body: object, { said }: Run): string | undefined {
  if (!price?.input || !price.output) return undefined;
  const estimateTokens = (characters: number): bigint => BigInt(Math.ceil(characters / bytesPerToken));
  const sent = estimateTokens(JSON.stringify(body).length) * parseUsd(price.input);
  const got = estimateTokens(said.text.length + said.reasoning.length) * parseUsd(price.output);
  return formatUsd((sent + got) / million);
}

async function readPicture(file: File): Promise<string> {
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
function renderReply(run: Run, estimated: string | undefined, isLinked: boolean) {
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
    ${said.json !== '' && renderJson('Body of the reply', said.json)}
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

function Export({ source }: { readonly source: Source }) {
  const language = useSignal<string>('curl');
  return html`<section class="card" aria-label="As code">
    <h2>As code</h2>
    ${renderChoice('Language', languages, language)}
    <p class="dim">The key is read from the environment: <code>TOLLGATE_KEY</code>.</p>
    ${renderCode(formatCode(language.value, source))}
  </section>`;
}

type Draft = Readonly<
  Record<'system' | 'prompt' | 'maxTokens' | 'temperature' | 'tools' | 'further', Signal<string>>
>;

function readNumber(text: string): number | undefined {
  return text.trim() === '' || Number.isNaN(Number(text)) ? undefined : Number(text);
}

/** A list or an object, as the fallback is. */
function readJson<Value extends object>(name: string, text: string, fallback: Value): Value {
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

function renderSettings({ system, maxTokens, temperature, tools, further }: Draft, hasText: boolean) {
  const number = { type: 'number', isLive: true };
  const ofText = html`<div class="order">
      ${renderInput('Max output (tokens)', maxTokens, number)}
      ${renderInput('Temperature', temperature, number)}
    </div>
    ${renderInput('Tools (JSON)', tools, { rows: 4, placeholder: exampleTools })}`;
  return html`${hasText && renderInput('System', system, { rows: 2 })}
    <details>
      <summary>${hasText ? 'Parameters and tools' : 'Further fields'}</summary>
      ${hasText && ofText}
      ${renderInput('Further fields of the body (JSON)', further, { rows: 3, placeholder: '{"seed": 7}' })}
    </details>`;
}

function renderConversation(turns: readonly Turn[], clear: () => void) {
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

interface Chosen {
  readonly protocol: string;
  readonly model: string;
  readonly form: CallForm | undefined;
  /** The path of the protocol's SDK below the gateway. */
  readonly base: string;
  readonly at: CallPlace;
}

interface Prepared {
  readonly wanted: Wanted;
  readonly built: Built;
}

/** What a person has written, and the calls made so far. */
function createWork() {
  const draft: Draft = {
    system: signal(''),
    prompt: signal('Hello! Who are you?'),
    maxTokens: signal(''),
    temperature: signal(''),
    tools: signal(''),
    further: signal(''),
  };
  const written: Written = new Map();
  return {
    draft,
    written,
    stream: signal(true),
    pictures: signal<readonly string[]>([]),
    turns: signal<readonly Turn[]>([]),
    running: signal<Running | undefined>(undefined),
    costs: signal<readonly string[]>([]),
    sent: signal<Prepared | undefined>(undefined),
  };
}

/** A look at another page, such as that of a call, does not lose it. */
let work = createWork();

/** The next person at this browser sees nothing of it. */
export function forgetWork(): void {
  work = createWork();
  playgroundKey.value = '';
}
effect(() => {
  if (session.value?.signedIn === false) forgetWork();
});

/** The request as it is chosen and written, or what is wrong with it. */
function prepare({ protocol, model, form, base }: Chosen): { prepared?: Prepared; wrong?: string } {
  const { draft, written, stream, pictures, turns } = work;
  try {
    const ask: Turn = { role: 'user', text: draft.prompt.value, images: pictures.value };
    const wanted: Wanted = {
      protocol,
      model,
      stream: form?.streams !== false && stream.value,
      system: draft.system.value,
      turns: [...turns.value, ask],
      tools: readJson<readonly Tool[]>('Tools', draft.tools.value, []),
      maxTokens: readNumber(draft.maxTokens.value),
      temperature: readNumber(draft.temperature.value),
      further: readJson<Wanted['further']>('Further fields', draft.further.value, {}),
      ...(form && { form, fields: readFields(form, written) }),
    };
    return { prepared: { wanted, built: buildRequest(wanted, base) } };
  } catch (error) {
    return { wrong: getMessage(error) };
  }
}

async function send({ protocol, form, at }: Chosen, prepared: Prepared): Promise<void> {
  const { draft, pictures, turns, running, costs, sent } = work;
  const started = startRun(protocol, prepared.built, playgroundKey.value, at);
  running.value = started;
  sent.value = prepared;
  const { said, cost, error } = await started.done;
  if (cost !== undefined) costs.value = [...costs.value, cost];
  if (error !== undefined || form || protocol === 'images' || said.text === '') return;
  turns.value = [...prepared.wanted.turns, { role: 'assistant', text: said.text, images: [] }];
  draft.prompt.value = '';
  pictures.value = [];
}

const renderFault = (text: string | undefined) =>
  text !== undefined && html`<p class="fault" role="alert">${text}</p>`;

function Pictures() {
  const fault = useSignal<string | undefined>(undefined);
  const pick = async (event: { currentTarget: HTMLInputElement }): Promise<void> => {
    try {
      work.pictures.value = await Promise.all([...(event.currentTarget.files ?? [])].map(readPicture));
    } catch (error) {
      fault.value = getMessage(error);
    }
  };
  return html`<label class="control"
      ><span>Pictures</span><input type="file" accept="image/*" multiple onChange=${pick}
    /></label>
    ${renderFault(fault.value)}`;
}

interface StageProps {
  readonly facts: Facts;
  /** Where clients reach the public listener. */
  readonly url: string;
  readonly models: readonly PricedModel[] | undefined;
  readonly at: CallPlace;
  /** Asks for a key, where the page has none of its own. */
  readonly chooser?: ComponentChildren;
  /** Whether there is a page of each call. */
  readonly isLinked?: boolean;
}

/** The request, and beside it the reply and the code. */
export function Stage({ facts, url, models, at, chooser, isLinked = false }: StageProps) {
  const spoken = listPlayable(facts);
  const protocolState = bindQuery('protocol', spoken[0]);
  const protocol = spoken.find((name) => name === protocolState.value) ?? spoken[0] ?? '';
  const { path: base = '', client: sdk } = facts.addresses.find((each) => each.protocol === protocol) ?? {};
  const [form, output] = [findForm(facts, protocol), findOutput(facts, protocol)];
  const hasTurns = !form && protocol !== 'images';
  const fitting = models?.filter(({ makes }) => isFor(output, makes, facts));
  const usual = fitting?.find(({ makes }) => makes?.includes(output)) ?? fitting?.[0];
  const modelState = bindQuery('model', usual?.id);
  const model = modelState.value;
  const chosen = { protocol, model, form, base, at };
  const chosenProtocol = bindState(
    () => protocol,
    // No model makes both texts and pictures for all protocols.
    (next) => setQuery({ protocol: next, ...(findOutput(facts, next) !== output && { model: undefined }) }),
  );
  const { draft, written, turns, running, stream, pictures, costs, sent } = work;
  const { prepared, wrong } = prepare(chosen);
  const now = running.value?.run.value;
  const isBusy = now !== undefined && now.took === undefined;
  const isBlank = !form && draft.prompt.value.trim() === '' && pictures.value.length === 0;
  const isReady = !isBusy && !isBlank && playgroundKey.value !== '' && model !== '' && prepared;
  const last = sent.value;
  // The last call, until there is something to send.
  const isLast = isBlank && last?.wanted.protocol === protocol && last.wanted.model === model;
  const shown = isLast ? last : prepared;
  const price = models?.find(({ id }) => id === model);
  const spent = html`<span class="check">Spent here: ${renderUsd(sumAmounts(costs.value))}</span>`;
  return html`<div class="order">
      ${renderSelect('Protocol', spoken, chosenProtocol)}
      ${renderInput('Model', modelState, { suggest: fitting?.map(({ id }) => id) })}
      ${form?.streams !== false && renderCheckbox('Stream', stream)} ${costs.value.length > 0 && spent}
    </div>
    <div class="columns">
      <div>
        ${chooser} ${hasTurns && renderConversation(turns.value, () => (turns.value = []))}
        ${form && renderFields(form, written)} ${renderSettings(draft, hasTurns)}
        ${!form && renderInput('Prompt', draft.prompt, { rows: 5 })}
        ${
          // Another one after each answer, since nothing else empties its field.
          hasTurns && html`<${Pictures} key=${turns.value.length} />`
        }
        ${renderFault(wrong)}
        <div class="row start">
          <button
            class="primary"
            disabled=${!isReady}
            onClick=${() => prepared && void send(chosen, prepared)}
          >
            Send
          </button>
          ${isBusy && html`<button onClick=${() => running.value?.stop()}>Stop</button>`}
        </div>
      </div>
      <div>
        ${now && renderReply(now, prepared && estimateCost(price, prepared.built.body, now), isLinked)}
        ${shown && html`<${Export} source=${{ ...shown.wanted, ...shown.built, base, sdk, url }} />`}
      </div>
    </div>`;
}

/** Calls go by the admin listener: a page may not call another origin. */
const at: CallPlace = {
  base: '/console/calls',
  find: (id) => call('GET /admin/calls/:id', { id }),
};

export function Page() {
  const { data: facts, error } = useData('GET /console/facts');
  const listing = useData('GET /admin/models');
  const models = listing.data?.data.map(({ id, output, offers: [offer] }) => ({
    id,
    makes: output,
    input: findRate(offer?.price ?? null, 'input'),
    output: findRate(offer?.price ?? null, 'output'),
  }));
  const stage =
    facts &&
    html`<${Stage}
      facts=${facts}
      url=${getPublicUrl(facts)}
      models=${models}
      at=${at}
      chooser=${html`<${KeyChooser} />`}
      isLinked
    />`;
  // Without the catalogue there are no names to suggest, which is not an error.
  const isMissing = listing.error instanceof ApiError && listing.error.status === 404;
  return html`${renderHead('Playground')} ${renderProblem(error)}
  ${!isMissing && renderProblem(listing.error)} ${stage}`;
}
