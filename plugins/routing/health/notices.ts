/**
 * Tells operators of keys that a vendor refuses, and of models that live on a fallback: the first provider of
 * the configuration answers none of their calls, and others do. It looks at what is known of the targets from
 * time to time, so that calls pay nothing for it.
 */
import type { Host } from '../../../core/index.ts';
import { raiseNotice, resolveNotice } from '../../shared/notices/events.ts';
import type { HealthBook, TargetHealth } from './book.ts';

type Needs = Pick<Host, 'notices' | 'catalog'>;

interface Seen {
  answered: number;
  attempts: number;
}

/** What happened since the last look. */
interface News extends Seen {
  readonly target: TargetHealth;
}

function notifyOfKeys(notices: Needs['notices'], news: readonly News[]): void {
  const byKey = Map.groupBy(news, ({ target: { provider, key } }) => `${provider} ${key}`);
  for (const [subject, targets] of byKey) {
    const refused = targets.flatMap(({ target }) => (target.refused === undefined ? [] : target));
    if (refused[0]) {
      const { provider, key, refused: status = 401 } = refused[0];
      const facts = { provider, key, status, models: refused.map(({ model }) => model) };
      void raiseNotice(notices, 'provider.key_refused', { subject }, facts);
    } else if (targets.some(({ answered }) => answered > 0))
      resolveNotice(notices, 'provider.key_refused', subject);
  }
}

/**
 * Returns what looks, at a time. What the book knows already is no news. `patience` is how many milliseconds
 * a model may live on a fallback before operators get a notice.
 */
export function watchHealth(
  { notices, catalog }: Needs,
  book: HealthBook,
  patience: number,
): (now: number) => void {
  const seen = new Map<TargetHealth, Seen>();
  /** Since when each model has lived on its fallback. */
  const fallen = new Map<string, number>();

  function readNews(target: TargetHealth): News {
    const { attempts, failed } = target;
    const before = seen.get(target) ?? { answered: 0, attempts: 0 };
    seen.set(target, { answered: attempts - failed, attempts });
    return { target, answered: attempts - failed - before.answered, attempts: attempts - before.attempts };
  }

  function notifyOfModel(model: string, news: readonly News[], now: number): void {
    const first = catalog.find(model)[0]?.provider.name;
    if (first === undefined) return;
    const own = news.filter(({ target }) => target.provider === first);
    const isIll = own.length > 0 && own.every(({ target }) => target.condition.describe().state !== 'well');
    const isTried = own.some(({ attempts }) => attempts > 0);
    if (own.some(({ answered }) => answered > 0)) {
      fallen.delete(model);
      return resolveNotice(notices, 'model.on_fallback', model);
    }
    const helpers = news.flatMap(({ target, answered }) => (answered > 0 ? target.provider : []));
    // Without calls there is no fallback. A provider that works may be unused because others cost less.
    if (helpers.length === 0) return;
    if (!isIll && !isTried) return void fallen.delete(model);
    const since = fallen.get(model) ?? now;
    fallen.set(model, since);
    if (now - since < patience) return;
    const minutes = Math.round((now - since) / 60_000);
    const facts = { model, first, others: [...new Set(helpers)], minutes };
    void raiseNotice(notices, 'model.on_fallback', { subject: model }, facts);
  }

  book.known.forEach(readNews);
  return (now) => {
    const news = book.known.map(readNews);
    notifyOfKeys(notices, news);
    for (const [model, targets] of Map.groupBy(news, ({ target }) => target.model))
      notifyOfModel(model, targets, now);
  };
}
