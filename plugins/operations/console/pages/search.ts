/** What a few letters may mean: the search of the palette, and fields that complete names of what exists. */
import type { Replies } from '../../../shared/replies/routes.ts';
import { call } from './api.ts';
import { renderInput, type State } from './form.ts';
import { html, useSignal } from './kit.ts';

export type Found = Replies['GET /admin/search']['data'][number];

/** Milliseconds without a letter, after which the letters are looked for. */
const pause = 120;
let typed = 0;

/** Looks once no more is typed for a moment. Returns undefined if more was. A failed search finds nothing. */
export async function findNames(text: string, kind?: Found['kind']): Promise<readonly Found[] | undefined> {
  const turn = (typed += 1);
  await new Promise((resolve) => setTimeout(resolve, pause));
  if (turn !== typed) return undefined;
  const found = await call('GET /admin/search', { text: text.slice(0, 200), kind }).then(
    ({ data }) => data,
    () => [],
  );
  return turn === typed ? found : undefined;
}

/** A name by which a filter finds it: that of a key is its own among those found, or else its id. */
function toOption({ kind, id, name, account, last_four: four }: Found, _: number, all: readonly Found[]) {
  const isAlone = kind !== 'key' || all.filter((other) => other.name === name).length === 1;
  const label = kind === 'key' ? `${name} …${four} of ${account ?? 'an operator'}` : undefined;
  return [isAlone && !name.startsWith('…') ? name : id, label] as const;
}

interface NameInputProps {
  readonly label: string;
  readonly state: State;
  readonly kind: Found['kind'];
  readonly placeholder?: string;
}

/** A field that completes names of one kind. */
export function NameInput({ label, state, kind, placeholder = '' }: NameInputProps) {
  const found = useSignal<readonly Found[]>([]);
  const look = async ({ target }: Event): Promise<void> => {
    if (!(target instanceof HTMLInputElement)) return;
    found.value = (await findNames(target.value, kind)) ?? found.value;
  };
  return html`<div class="names" onInput=${look} onFocusIn=${look}>
    ${renderInput(label, state, { placeholder, suggest: found.value.map(toOption) })}
  </div>`;
}
