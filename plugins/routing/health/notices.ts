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

export class HealthNotices {
  readonly #host: Needs;
  readonly #book: HealthBook;
  /** Milliseconds on a fallback before operators get a notice. */
  readonly #patience: number;
  readonly #seen = new Map<TargetHealth, Seen>();
  /** Since when each model has lived on its fallback. */
  readonly #fallen = new Map<string, number>();

  /** What the book knows already is no news. */
  constructor(host: Needs, book: HealthBook, patience: number) {
    this.#host = host;
    this.#book = book;
    this.#patience = patience;
    for (const target of book.known) this.#readNews(target);
  }

  look(now: number): void {
    const news = this.#book.known.map((target) => this.#readNews(target));
    this.#lookAtKeys(news);
    for (const [model, targets] of Map.groupBy(news, ({ target }) => target.model))
      this.#lookAtModel(model, targets, now);
  }

  #readNews(target: TargetHealth): News {
    const { attempts, failed } = target;
    const seen = this.#seen.get(target) ?? { answered: 0, attempts: 0 };
    this.#seen.set(target, { answered: attempts - failed, attempts });
    return { target, answered: attempts - failed - seen.answered, attempts: attempts - seen.attempts };
  }

  #lookAtKeys(news: readonly News[]): void {
    const byKey = Map.groupBy(news, ({ target: { provider, key } }) => `${provider} ${key}`);
    for (const [subject, targets] of byKey) {
      const refused = targets.flatMap(({ target }) => (target.refused === undefined ? [] : target));
      if (refused[0]) {
        const { provider, key, refused: status = 401 } = refused[0];
        const facts = { provider, key, status, models: refused.map(({ model }) => model) };
        void raiseNotice(this.#host.notices, 'provider.key_refused', { subject }, facts);
      } else if (targets.some(({ answered }) => answered > 0))
        resolveNotice(this.#host.notices, 'provider.key_refused', subject);
    }
  }

  #lookAtModel(model: string, news: readonly News[], now: number): void {
    const { notices, catalog } = this.#host;
    const first = catalog.find(model)[0]?.provider.name;
    if (first === undefined) return;
    const own = news.filter(({ target }) => target.provider === first);
    const isIll = own.length > 0 && own.every(({ target }) => target.condition.describe().state !== 'well');
    const isTried = own.some(({ attempts }) => attempts > 0);
    if (own.some(({ answered }) => answered > 0)) {
      this.#fallen.delete(model);
      resolveNotice(notices, 'model.on_fallback', model);
      return;
    }
    const helpers = news.flatMap(({ target, answered }) => (answered > 0 ? target.provider : []));
    // Without calls there is no fallback. A provider that works may be unused because others cost less.
    if (helpers.length === 0) return;
    if (!isIll && !isTried) return void this.#fallen.delete(model);
    const since = this.#fallen.get(model) ?? now;
    this.#fallen.set(model, since);
    if (now - since < this.#patience) return;
    const minutes = Math.round((now - since) / 60_000);
    const facts = { model, first, others: [...new Set(helpers)], minutes };
    void raiseNotice(notices, 'model.on_fallback', { subject: model }, facts);
  }
}
