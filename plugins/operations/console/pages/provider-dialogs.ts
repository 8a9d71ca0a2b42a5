/** What comes above the page of providers: a rest, a test of the keys, the last errors. */
import type { ProviderTest, TargetHealth } from '../../../shared/replies/providers.ts';
import { call } from './api.ts';
import { openForm, keepTyped } from './form.ts';
import { formatDuration, renderTime } from './format.ts';
import { html, getMessage, openDialog } from './kit.ts';
import { renderBadge, renderProblem } from './parts.ts';

const rests = [
  ['300', '5 minutes'],
  ['3600', '1 hour'],
  ['14400', '4 hours'],
  ['86400', '1 day'],
  ['604800', '1 week'],
] as const;

export type Part = { readonly key?: number; readonly model?: string };

export function namePart(provider: string, { key, model }: Part): string {
  return [provider, key && `key ${key}`, model].filter(Boolean).join(', ');
}

export function openRest(provider: string, part: Part, onDone: () => void): void {
  openForm({
    title: `Pause: ${namePart(provider, part)}`,
    intro: 'It gets no calls until the time is over, even after a restart. Running calls finish.',
    fields: [
      { name: 'seconds', label: 'For', type: 'select', value: '3600', options: rests },
      { name: 'reason', label: 'Reason', hint: 'Shown here to other operators.' },
    ],
    submit: 'Pause',
    isDangerous: true,
    send: ({ seconds, reason }) =>
      call(
        'POST /admin/providers/:provider/rest',
        { provider },
        {
          ...part,
          seconds: Number(seconds),
          ...keepTyped('reason', reason),
        },
      ),
    onDone,
  });
}

function renderResult({ key, ok, milliseconds, findings }: ProviderTest['results'][number]) {
  return html`<h3>
      Key ${key} ${renderBadge(ok ? 'works' : 'does not work', ok ? 'good' : 'bad')}
      <span class="dim"> ${formatDuration(milliseconds)}</span>
    </h3>
    <ul>
      ${findings.map(
        ({ message, remedy }) =>
          html`<li>${message}${remedy && html`<br /><span class="dim">${remedy}</span>`}</li>`,
      )}
    </ul>`;
}

export async function openTest(provider: string): Promise<void> {
  const show = (body: Parameters<typeof openDialog>[1]): void => openDialog(`Test: ${provider}`, body);
  show(html`<p aria-busy="true">Asking the provider …</p>`);
  try {
    const { results } = await call('POST /admin/providers/:provider/test', { provider });
    show(results.map(renderResult));
  } catch (error) {
    show(renderProblem(getMessage(error)));
  }
}

export function openErrors(provider: string, { model, lastErrors }: TargetHealth): void {
  openDialog(
    `Last errors: ${provider}, ${model}`,
    html`<ul class="losses">
      ${lastErrors.map(
        ({ at, code, status, message }) =>
          html`<li>
            ${renderTime(at)} ${renderBadge(code, 'bad')} ${status !== null && `status ${status}`}
            <p>${message}</p>
          </li>`,
      )}
    </ul>`,
  );
}
