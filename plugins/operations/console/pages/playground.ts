/** The playground: real calls in any protocol, with a key, and the same call as code. */
import { ApiError, call, session, useData } from './api.ts';
import { getPublicUrl, type Facts } from './client-settings.ts';
import { renderCheckbox, bindQuery, renderInput, renderSelect } from './controls.ts';
import { effect, html, getMessage, signal, useSignal, type ComponentChildren } from './kit.ts';
import { findRate, sumAmounts, renderUsd } from './money.ts';
import { renderHead, renderProblem } from './parts.ts';
import { KeyChooser, playgroundKey } from './playground-key.ts';
import {
  renderConversation,
  estimateCost,
  Export,
  readNumber,
  readJson,
  readPicture,
  renderReply,
  renderSettings,
  type Draft,
  type PricedModel,
} from './playground-parts.ts';
import {
  buildRequest,
  playable,
  type Built,
  type Tool,
  type Turn,
  type Wanted,
} from './playground-requests.ts';
import { startRun, type CallPlace, type Running } from './playground-run.ts';

interface Chosen {
  readonly protocol: string;
  readonly model: string;
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
  return {
    draft,
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
}
effect(() => {
  if (session.value?.signedIn === false) forgetWork();
});

function preparePlay({ protocol, model, base, at }: Chosen) {
  const { draft, stream, pictures, turns, running, costs, sent } = work;

  function build(): Prepared {
    const ask: Turn = { role: 'user', text: draft.prompt.value, images: pictures.value };
    const wanted: Wanted = {
      protocol,
      model,
      stream: stream.value,
      system: draft.system.value,
      turns: [...turns.value, ask],
      tools: readJson<readonly Tool[]>('Tools', draft.tools.value, []),
      maxTokens: readNumber(draft.maxTokens.value),
      temperature: readNumber(draft.temperature.value),
      further: readJson<Wanted['further']>('Further fields', draft.further.value, {}),
    };
    return { wanted, built: buildRequest(wanted, base) };
  }

  async function send(prepared: Prepared): Promise<void> {
    const started = startRun(protocol, prepared.built, playgroundKey.value, at);
    running.value = started;
    sent.value = prepared;
    const { said, cost, error } = await started.done;
    if (cost !== undefined) costs.value = [...costs.value, cost];
    if (error !== undefined || protocol === 'images' || said.text === '') return;
    turns.value = [...prepared.wanted.turns, { role: 'assistant', text: said.text, images: [] }];
    draft.prompt.value = '';
    pictures.value = [];
  }
  return { draft, stream, pictures, turns, running, costs, sent, build, send };
}

type Play = ReturnType<typeof preparePlay>;

/** A checked request, or what is wrong with it. */
function tryToBuild({ build }: Play): { prepared?: Prepared; wrong?: string } {
  try {
    return { prepared: build() };
  } catch (error) {
    return { wrong: getMessage(error) };
  }
}

const renderFault = (text: string | undefined) =>
  text !== undefined && html`<p class="fault" role="alert">${text}</p>`;

function Pictures({ play: { pictures } }: { readonly play: Play }) {
  const fault = useSignal<string | undefined>(undefined);
  const pick = async (event: { currentTarget: HTMLInputElement }): Promise<void> => {
    try {
      pictures.value = await Promise.all([...(event.currentTarget.files ?? [])].map(readPicture));
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
  const bases = new Map(facts.addresses.map(({ protocol, path }) => [protocol, path]));
  const spoken = playable.filter((name) => bases.has(name));
  const protocolState = bindQuery('protocol', spoken[0]);
  const protocol = spoken.find((name) => name === protocolState.value) ?? spoken[0] ?? '';
  const base = bases.get(protocol) ?? '';
  const modelState = bindQuery('model', models?.[0]?.id);
  const model = modelState.value;
  const play = preparePlay({ protocol, model, base, at });
  const { draft, turns, running, stream, pictures, costs, sent, send } = play;
  const { prepared, wrong } = tryToBuild(play);
  const now = running.value?.run.value;
  const isBusy = now !== undefined && now.took === undefined;
  const isBlank = draft.prompt.value.trim() === '' && pictures.value.length === 0;
  const isReady = !isBusy && !isBlank && playgroundKey.value !== '' && model !== '' && prepared;
  const last = sent.value;
  // The last call, until there is something to send.
  const isLast = isBlank && last?.wanted.protocol === protocol && last.wanted.model === model;
  const shown = isLast ? last : prepared;
  const price = models?.find(({ id }) => id === model);
  const spent = html`<span class="check">Spent here: ${renderUsd(sumAmounts(costs.value))}</span>`;
  return html`<div class="order">
      ${renderSelect('Protocol', spoken, protocolState)}
      ${renderInput('Model', modelState, { suggest: models?.map(({ id }) => id) })}
      ${renderCheckbox('Stream', stream)} ${costs.value.length > 0 && spent}
    </div>
    <div class="columns">
      <div>
        ${chooser} ${renderConversation(turns.value, () => (turns.value = []))}
        ${renderSettings(draft, protocol !== 'images')} ${renderInput('Prompt', draft.prompt, { rows: 5 })}
        ${
          // Another one after each answer, since nothing else empties its field.
          protocol !== 'images' && html`<${Pictures} key=${turns.value.length} play=${play} />`
        }
        ${renderFault(wrong)}
        <div class="row start">
          <button class="primary" disabled=${!isReady} onClick=${() => prepared && void send(prepared)}>
            Send
          </button>
          ${isBusy && html`<button onClick=${() => running.value?.stop()}>Stop</button>`}
        </div>
      </div>
      <div>
        ${now && renderReply(now, prepared && estimateCost(price, prepared.built.body, now), isLinked)}
        ${shown && html`<${Export} source=${{ ...shown.wanted, ...shown.built, base, url }} />`}
      </div>
    </div>`;
}

/** Calls go by the admin listener: a page may not call another origin. */
const at: CallPlace = {
  base: '/console/calls',
  find: (id) => call('GET /admin/calls/:id', { id }),
};

export function Page() {
  const { data: facts, error, reload } = useData('GET /console/facts');
  const listing = useData('GET /admin/models');
  const models = listing.data?.data.map(({ id, offers: [offer] }) => ({
    id,
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
  return html`${renderHead('Playground')} ${renderProblem(error, reload)}
  ${!isMissing && renderProblem(listing.error, listing.reload)} ${stage}`;
}
