/** The playground: real calls in any protocol, with a key, and the same call as code. */
import { useData } from './api.ts';
import { publicUrl, type Facts } from './client-settings.ts';
import { html, messageOf, useSignal, takeText, takeChecked } from './kit.ts';
import { Amount, sum } from './money.ts';
import { Fault, Head, Select } from './parts.ts';
import { KeyChooser, playgroundKey } from './playground-key.ts';
import {
  Conversation,
  estimate,
  Export,
  figure,
  json,
  readPicture,
  Reply,
  Settings,
  Text,
  type Draft,
  type ModelList,
} from './playground-parts.ts';
import {
  buildRequest,
  playable,
  type Built,
  type Tool,
  type Turn,
  type Wanted,
} from './playground-requests.ts';
import { startRun, type Running } from './playground-run.ts';
import { setQuery, type Place } from './router.ts';

interface Chosen {
  readonly protocol: string;
  readonly model: string;
  /** The path of the protocol's SDK below the gateway. */
  readonly base: string;
}

interface Prepared {
  readonly wanted: Wanted;
  readonly built: Built;
}

/** What the person has written, and the calls made so far. */
function usePlay({ protocol, model, base }: Chosen) {
  const draft: Draft = {
    system: useSignal(''),
    prompt: useSignal('Hello! Who are you?'),
    maxTokens: useSignal(''),
    temperature: useSignal(''),
    tools: useSignal(''),
    further: useSignal(''),
  };
  const stream = useSignal(true);
  const pictures = useSignal<readonly string[]>([]);
  const turns = useSignal<readonly Turn[]>([]);
  const running = useSignal<Running | undefined>(undefined);
  const costs = useSignal<readonly string[]>([]);
  const sent = useSignal<Prepared | undefined>(undefined);

  function build(): Prepared {
    const ask: Turn = { role: 'user', text: draft.prompt.value, images: pictures.value };
    const wanted: Wanted = {
      protocol,
      model,
      stream: stream.value,
      system: draft.system.value,
      turns: [...turns.value, ask],
      tools: json<readonly Tool[]>('Tools', draft.tools.value, []),
      maxTokens: figure(draft.maxTokens.value),
      temperature: figure(draft.temperature.value),
      further: json<Wanted['further']>('Further fields', draft.further.value, {}),
    };
    return { wanted, built: buildRequest(wanted, base) };
  }

  async function send(wanted: Wanted, built: Built): Promise<void> {
    const started = startRun(protocol, built, playgroundKey.value);
    running.value = started;
    sent.value = { wanted, built };
    const { said, cost, error } = await started.done;
    if (cost !== undefined) costs.value = [...costs.value, cost];
    if (error !== undefined || protocol === 'images' || said.text === '') return;
    turns.value = [...wanted.turns, { role: 'assistant', text: said.text, images: [] }];
    draft.prompt.value = '';
    pictures.value = [];
  }
  return { draft, stream, pictures, turns, running, costs, sent, build, send };
}

type Play = ReturnType<typeof usePlay>;

/** A checked request, or what is wrong with it. */
function tryToBuild({ build }: Play): Partial<Prepared> & { wrong?: string } {
  try {
    return build();
  } catch (error) {
    return { wrong: messageOf(error) };
  }
}

function Top(props: {
  readonly chosen: Chosen;
  readonly play: Play;
  readonly models: ModelList | undefined;
}) {
  const {
    chosen: { protocol, model },
    play: { stream, costs },
    models,
  } = props;
  return html`<div class="order">
    <${Select}
      label="Protocol"
      options=${playable.map((name) => [name, name])}
      value=${protocol}
      onChange=${(value: string) => setQuery({ protocol: value })}
    />
    <label class="filter-field"
      ><span>Model</span
      ><input
        list="playground-models"
        value=${model}
        spellcheck=${false}
        onChange=${takeText((text) => setQuery({ model: text.trim() }))}
    /></label>
    <datalist id="playground-models">${models?.data.map(({ id }) => html`<option value=${id} />`)}</datalist>
    <label class="check"
      ><input
        type="checkbox"
        checked=${stream}
        onChange=${takeChecked((isChecked) => (stream.value = isChecked))}
      />
      Stream</label
    >
    ${costs.value.length > 0 && html`<span>Spent here: <${Amount} usd=${sum(costs.value)} /></span>`}
  </div>`;
}

function Pictures({ play: { pictures } }: { readonly play: Play }) {
  const fault = useSignal<string | undefined>(undefined);
  const pick = async (event: { currentTarget: HTMLInputElement }): Promise<void> => {
    try {
      pictures.value = await Promise.all([...(event.currentTarget.files ?? [])].map(readPicture));
    } catch (error) {
      fault.value = messageOf(error);
    }
  };
  return html`<label class="filter-field"
      ><span>Pictures</span><input type="file" accept="image/*" multiple onChange=${pick}
    /></label>
    ${fault.value !== undefined && html`<p class="fault" role="alert">${fault.value}</p>`}`;
}

function Stage({ place: { query }, facts }: { readonly place: Place; readonly facts: Facts }) {
  const bases = new Map(facts.addresses.map(({ protocol, path }) => [protocol, path]));
  const protocol = playable.includes(query.protocol ?? '') ? (query.protocol ?? '') : 'chat-completions';
  const base = bases.get(protocol) ?? bases.get('chat-completions') ?? '';
  const { data: models } = useData<ModelList>('/admin/models');
  const model = query.model ?? models?.data[0]?.id ?? '';
  const chosen = { protocol, model, base };
  const play = usePlay(chosen);
  const { draft, turns, running } = play;
  const { wanted, built, wrong } = tryToBuild(play);
  const now = running.value?.run.value;
  const isBusy = now !== undefined && now.took === undefined;
  const isBlank = draft.prompt.value.trim() === '' && play.pictures.value.length === 0;
  const isReady = !isBusy && !isBlank && playgroundKey.value !== '' && model !== '';
  const last = play.sent.value;
  // The last call, until there is something to send.
  const isLast = isBlank && last?.wanted.protocol === protocol && last.wanted.model === model;
  const code = isLast ? last : built && wanted && { built, wanted };
  return html`<${Top} chosen=${chosen} play=${play} models=${models} />
    <div class="columns">
      <div>
        <${KeyChooser} />
        <${Conversation} turns=${turns.value} clear=${() => (turns.value = [])} />
        <${Settings} draft=${draft} hasText=${protocol !== 'images'} />
        <${Text} label="Prompt" value=${draft.prompt} rows=${5} />
        ${protocol !== 'images' && html`<${Pictures} play=${play} />`}
        ${wrong !== undefined && html`<p class="fault" role="alert">${wrong}</p>`}
        <div class="row start">
          <button
            class="primary"
            disabled=${!isReady || !built}
            onClick=${() => wanted && built && void play.send(wanted, built)}
          >
            Send
          </button>
          ${isBusy && html`<button onClick=${() => running.value?.stop()}>Stop</button>`}
        </div>
      </div>
      <div>
        ${now && html`<${Reply} of=${now} estimated=${built && estimate(models, model, built.body, now)} />`}
        ${code && html`<${Export} ...${code} base=${base} url=${publicUrl(facts)} />`}
      </div>
    </div>`;
}

export function Page({ place }: { readonly place: Place }) {
  const { data, error, reload } = useData<Facts>('/console/facts');
  return html`<${Head} title="Playground" />
    <${Fault} error=${error} retry=${reload} />
    ${data && html`<${Stage} place=${place} facts=${data} />`}`;
}
