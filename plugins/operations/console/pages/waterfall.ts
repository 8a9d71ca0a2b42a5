/** The times of a call as bars. */
import type { CallDetail } from '../../../shared/replies/calls.ts';
import { formatDuration } from './format.ts';
import { html } from './kit.ts';

type Step = CallDetail['timing'][number];

const words: Readonly<Record<string, string>> = {
  authenticate: 'Check the key',
  read: 'Read the request',
  replay: 'Look for a stored reply',
  route: 'Choose targets',
  authorize: 'Reserve the cost',
  settle: 'Settle in the ledger',
};

/** Steps as bars on one time axis; a mark in an attempt is its first event. */
export function renderWaterfall(steps: readonly Step[]) {
  const end = steps.reduce((most, step) => Math.max(most, step.start_ms + (step.duration_ms ?? 0)), 1);
  const toPercent = (ms: number): string => `${(ms / end) * 100}%`;
  const renderStep = ({ name, start_ms: start, duration_ms: length, first_event_ms: first, error }: Step) => {
    const title = `First event after ${formatDuration(first)}`;
    const mark =
      typeof first === 'number' &&
      html`<span class="mark" title=${title} style=${{ left: toPercent(start + first) }}></span>`;
    const bar = { left: toPercent(start), width: `max(2px, ${toPercent(length ?? 0)})` };
    return html`<div class=${`step ${error ? 'failed' : ''} ${name.startsWith('attempt') ? 'attempt' : ''}`}>
      <span>${words[name] ?? name.replace(/^a/, 'A')}</span>
      <span class="lane"><span class="bar" style=${bar}></span>${mark}</span>
      <span class="figure">${formatDuration(length)}</span>
      ${error && html`<span class="fault">${error}</span>`}
    </div>`;
  };
  return html`<div class="waterfall">${steps.map(renderStep)}</div>`;
}
