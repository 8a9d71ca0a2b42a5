/**
 * Tells operators of balances that are low, of the accounts that call, and of keys that expire soon. Both are
 * looked up behind the calls, and only if the configuration has an outbox.
 */
import { z } from 'zod';
import { formatUsd, usd, type End, type Host, type Nano } from '../../../core/index.ts';
import { nameDay, raiseNotice } from '../../shared/notices/events.ts';
import type { KeyRecord, Store } from './store.ts';

const day = 24 * 3_600_000;

export const noticeOptions = z.strictObject({
  /**
   * USD below which a balance is low: for all accounts, or by account with `*` for all others. Operators
   * get one notice until its credit changes; with 0 they get none.
   */
  lowBalance: z.union([usd, z.record(z.string(), usd)]).prefault('0.5'),
  /** Days before a key expires when operators get a notice; 0: none. */
  keyExpires: z.int().min(0).max(60).default(7),
});

type NoticeOptions = z.output<typeof noticeOptions>;

/** Milliseconds between two looks at accounts that called, between two at all keys, and until the first. */
const accountsEvery = 10_000;
const keysEvery = 3_600_000;
const firstLook = 60_000;
/** Accounts that are remembered until the next look. */
const mostSpenders = 10_000;
const pageLength = 1000;

/** An account and the accounts above it. */
export async function listLine(store: Store, account: string | undefined): Promise<readonly string[]> {
  if (account === undefined) return [];
  const [found] = await store.listAccounts({ wanted: account, limit: 1 });
  return [account, ...(found?.line ?? [])];
}

export class AccountWatch {
  readonly #options: NoticeOptions;
  readonly #host: Pick<Host, 'notices' | 'logger'>;
  readonly #spenders = new Set<string>();
  #store: Store | undefined;

  constructor(host: Pick<Host, 'notices' | 'logger'>, options: NoticeOptions) {
    this.#host = host;
    this.#options = options;
  }

  /** Remembers whose call has ended. */
  note({ exchange }: End): void {
    if (this.#store && 'principal' in exchange && this.#spenders.size < mostSpenders)
      this.#spenders.add(exchange.principal.account);
  }

  /** Looks from now on, unless there is no outbox; returns a function that stops it. */
  start(store: Store): () => void {
    if (!this.#host.notices.outbox) return () => undefined;
    this.#store = store;
    const logFailure = (error: unknown): void =>
      this.#host.logger.debug({ error }, 'accounts could not be read');
    const lookAtKeys = (): void => void this.lookAtKeys(store).catch(logFailure);
    const timers = [
      // Not while the gateway starts: the thread for reports would start with it.
      setTimeout(lookAtKeys, firstLook).unref(),
      setInterval(() => void this.lookAtAccounts(store).catch(logFailure), accountsEvery).unref(),
      setInterval(lookAtKeys, keysEvery).unref(),
    ];
    return () => timers.forEach((timer) => clearInterval(timer));
  }

  async lookAtAccounts(store: Store): Promise<void> {
    const names = [...this.#spenders];
    this.#spenders.clear();
    for (const account of names) {
      const limit = this.#getLimit(account);
      const balance = limit > 0n ? await store.readBalance(account) : undefined;
      // An account that never had credit pays in another way.
      if (!balance || balance.total <= 0n || balance.total - balance.used >= limit) continue;
      const [found] = await store.listAccounts({ wanted: account, limit: 1 });
      // One that pays later needs no credit.
      if (found?.state !== 'open' || found.terms.postpaid) continue;
      void raiseNotice(
        this.#host.notices,
        'balance.low',
        { subject: account, period: `of ${formatUsd(found.total)}`, accounts: [account, ...found.line] },
        { account, left: formatUsd(found.total - found.used), limit: formatUsd(limit) },
      );
    }
  }

  async lookAtKeys(store: Store): Promise<void> {
    if (this.#options.keyExpires === 0) return;
    for (let after = ''; ;) {
      const keys = await store.listKeys({ after, limit: pageLength });
      for (const key of keys) await this.#lookAtKey(store, key);
      after = keys.at(-1)?.id ?? '';
      if (keys.length < pageLength) return;
    }
  }

  async #lookAtKey(store: Store, key: KeyRecord): Promise<void> {
    const { id, name, account, expires, created, disabled, rotatedTo } = key;
    const notice = this.#options.keyExpires * day;
    // A rotated key is meant to end, and so is one that was made for a few days.
    if (expires === undefined || disabled || rotatedTo !== undefined || expires - created <= notice) return;
    const left = expires - Date.now();
    if (left <= 0 || left > notice) return;
    const until = nameDay(expires);
    const accounts = await listLine(store, account);
    const facts = { id, name: name || id, expires: until };
    void raiseNotice(this.#host.notices, 'key.expires', { subject: id, period: until, accounts }, facts);
  }

  #getLimit(account: string): Nano {
    const { lowBalance } = this.#options;
    if (typeof lowBalance === 'bigint') return lowBalance;
    return lowBalance[account] ?? lowBalance['*'] ?? 0n;
  }
}
