/** Checks the limits of a key: its expiry when it is shown, its models before anything is reserved. The ledger checks the spend cap and the rate. */
import { GatewayError, type Grant, type Principal } from '../../../core/index.ts';
import type { KeyRecord } from './store.ts';

/** A key as calls carry it: its account, and what it may do. */
export class KeyHolder implements Principal {
  readonly kind: KeyRecord['kind'];
  readonly account: string;
  readonly key: string;
  readonly disabled: boolean;
  readonly expires: number;
  readonly models: readonly string[] | undefined;

  constructor({ id, kind, account = '', disabled, expires = Infinity, models }: KeyRecord) {
    this.kind = kind;
    this.account = account;
    this.key = id;
    this.disabled = disabled;
    this.expires = expires;
    this.models = models;
  }
}

/** Throws `invalid_api_key` for a key that is disabled or has expired. */
export function checkInForce(holder: KeyHolder): KeyHolder {
  if (holder.disabled) throw new GatewayError('invalid_api_key', `The API key ${holder.key} is disabled.`);
  if (holder.expires <= Date.now()) {
    throw new GatewayError('invalid_api_key', `The API key ${holder.key} expired at ${new Date(holder.expires).toISOString()}.`);
  }
  return holder;
}

function covers(pattern: string, model: string): boolean {
  return pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : model === pattern;
}

/** The grant, without targets whose models the key may not call. Throws `forbidden` where none is left. */
export function withinModels(grant: Grant, principal: Principal): Grant {
  const models = principal instanceof KeyHolder ? principal.models : undefined;
  if (!models) return grant;
  const targets = grant.targets.filter(({ model }) => models.some((pattern) => covers(pattern, model.id)));
  if (targets.length > 0) return { ...grant, targets };
  throw new GatewayError('forbidden', `The API key ${principal.key} may not call this model; it may call ${models.join(', ')}.`, { param: 'model' });
}
