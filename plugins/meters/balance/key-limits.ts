/**
 * A key as calls carry it. Its expiry is checked when it is shown. Core checks its models, and the ledger its
 * spend cap and its rate.
 */
import { GatewayError, type Principal } from '../../../core/index.ts';
import type { KeyRecord } from './store.ts';

/** A key as calls carry it: its account, and what it may do. */
export class KeyHolder implements Principal {
  readonly kind: KeyRecord['kind'];
  readonly account: string;
  readonly key: string;
  readonly disabled: boolean;
  readonly expires: number;
  readonly models: readonly string[] | undefined;
  readonly tags: readonly string[];
  readonly accountState: KeyRecord['accountState'];
  readonly readOnly: boolean;

  constructor({
    id,
    kind,
    account = '',
    disabled,
    expires = Infinity,
    models,
    tags,
    readOnly,
    accountState,
  }: KeyRecord) {
    this.kind = kind;
    this.account = account;
    this.key = id;
    this.disabled = disabled;
    this.expires = expires;
    this.models = models;
    this.tags = tags;
    this.accountState = accountState;
    this.readOnly = readOnly;
  }
}

/** Throws `invalid_api_key` for a key that is disabled or has expired, or whose account is not open. */
export function checkInForce(holder: KeyHolder): KeyHolder {
  if (holder.disabled) throw new GatewayError('invalid_api_key', `The API key ${holder.key} is disabled.`);
  if (holder.accountState !== 'open')
    throw new GatewayError(
      'invalid_api_key',
      `The account of the API key ${holder.key} is ${holder.accountState}.`,
    );
  if (holder.expires <= Date.now()) {
    throw new GatewayError(
      'invalid_api_key',
      `The API key ${holder.key} expired at ${new Date(holder.expires).toISOString()}.`,
    );
  }
  return holder;
}
