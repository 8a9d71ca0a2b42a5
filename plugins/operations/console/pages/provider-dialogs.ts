/** What comes above the page of providers: a rest, a test of the keys, the last errors. */
import { ApiError, api } from './api.ts';
import { Form, type Values } from './form.ts';
import { duration, Time } from './format.ts';
import { closeDialog, html, openDialog } from './kit.ts';
import { Badge } from './parts.ts';

export interface Figures {
  readonly attempts: number;
  readonly failed: number;
  readonly retryShare: number;
  readonly firstEventMs: { readonly p50: number | null; readonly p95: number | null };
}

export interface Target extends Figures {
  readonly key: number;
  readonly model: string;
  readonly state: string;
  readonly until: string | null;
  readonly reason: { readonly code: string; readonly message: string } | null;
  readonly lastErrors: readonly {
    readonly at: string;
    readonly code: string;
    readonly status: number | null;
    readonly message: string;
  }[];
}

export interface Hold {
  readonly key: number | null;
  readonly model: string | null;
  readonly until: string;
  readonly reason: string | null;
}

export interface Provider extends Figures {
  readonly provider: string;
  readonly protocols: readonly string[];
  readonly models: number;
  readonly keys: number;
  readonly canTest: boolean;
  readonly state: string;
  readonly holds: readonly Hold[];
  readonly targets: readonly Target[];
}

interface Tested {
  readonly results: readonly {
    readonly key: number;
    readonly ok: boolean;
    readonly milliseconds: number;
    readonly findings: readonly {
      readonly subject: string;
      readonly message: string;
      readonly remedy?: string;
    }[];
  }[];
}

export function openRest(
  provider: string,
  place: { key?: number; model?: string },
  reload: () => void,
): void {
  const what = [provider, place.key && `key ${place.key}`, place.model].filter(Boolean).join(', ');
  openDialog(
    `Take out of service: ${what}`,
    html`<p>It gets no calls until the time is over, also after a restart. Running calls finish.</p>
      <${Form}
        fields=${[
          {
            name: 'seconds',
            label: 'For',
            type: 'select',
            value: '3600',
            options: [
              ['300', '5 minutes'],
              ['3600', '1 hour'],
              ['14400', '4 hours'],
              ['86400', '1 day'],
              ['604800', '1 week'],
            ],
          },
          { name: 'reason', label: 'Reason', hint: 'Shown here to other operators.' },
        ]}
        submit="Take out"
        isDangerous
        onSubmit=${async ({ seconds, reason }: Values) => {
          const order = { ...place, seconds: Number(seconds), ...(reason ? { reason } : {}) };
          await api.post(`/admin/providers/${encodeURIComponent(provider)}/rest`, order);
          closeDialog();
          reload();
        }}
      />`,
  );
}

export async function openTest(provider: string): Promise<void> {
  openDialog(`Test: ${provider}`, html`<p aria-busy="true">Asking the provider …</p>`);
  try {
    const { results } = await api.post<Tested>(`/admin/providers/${encodeURIComponent(provider)}/test`);
    openDialog(
      `Test: ${provider}`,
      html`${results.map(
        ({ key, ok, milliseconds, findings }) =>
          html`<h3>
              Key ${key} <${Badge} tone=${ok ? 'good' : 'bad'}>${ok ? 'works' : 'does not work'}</${Badge}>
              <span class="dim"> ${duration(milliseconds)}</span>
            </h3>
            <ul>
              ${findings.map(
                ({ message, remedy }) =>
                  html`<li>${message}${remedy && html`<br /><span class="dim">${remedy}</span>`}</li>`,
              )}
            </ul>`,
      )}`,
    );
  } catch (error) {
    const text = error instanceof ApiError ? error.message : String(error);
    openDialog(`Test: ${provider}`, html`<p class="problem" role="alert">${text}</p>`);
  }
}

export function openErrors(provider: string, { model, lastErrors }: Target): void {
  openDialog(
    `Last errors: ${provider}, ${model}`,
    html`<ul class="errors">
      ${lastErrors.map(
        ({ at, code, status, message }) =>
          html`<li>
            <${Time} at=${at} /> <${Badge} tone="bad">${code}</${Badge}>${' '}
            ${status !== null && `status ${status}`}
            <p>${message}</p>
          </li>`,
      )}
    </ul>`,
  );
}
