/** Tells operators of models that retire soon, if clients have called them since the start. */
import type { Host } from '../../../core/index.ts';
import { raiseNotice } from '../../shared/notices/events.ts';

const day = 24 * 3_600_000;
/** Milliseconds between two looks, and models that are remembered. */
const lookEvery = 60_000;
const mostModels = 10_000;

/** Tells of the models among these that retire within so many days. */
export function raiseRetirements(
  { catalog, notices }: Pick<Host, 'catalog' | 'notices'>,
  models: Iterable<string>,
  days: number,
): void {
  for (const id of models) {
    const model = catalog.find(id)[0]?.model;
    if (!model?.expires || Date.parse(model.expires) - Date.now() > days * day) continue;
    const { expires, successor } = model;
    const advice = successor ? `Its successor is “${successor}”.` : 'Choose another one.';
    void raiseNotice(
      notices,
      'model.retires',
      { subject: model.id, period: expires },
      { model: model.id, expires, successor, advice },
    );
  }
}

/** `days` is how early they are told; with 0 they are not. */
export function watchRetirements(host: Host, days: number): void {
  if (days === 0) return;
  const called = new Set<string>();
  host.hooks.observe.tap('retirements', ({ exchange }) => {
    const id = 'targets' in exchange ? exchange.targets?.[0]?.model.id : undefined;
    if (id !== undefined && called.size < mostModels) called.add(id);
  });
  let timer: NodeJS.Timeout | undefined;
  host.hooks.ready.tap('retirements', () => {
    timer = setInterval(() => raiseRetirements(host, called, days), lookEvery).unref();
  });
  host.hooks.close.tapPromise('retirements', async () => clearInterval(timer));
}
