/** What replies to operators share: pages of lists, times, and refusals. */
import { formatUsd, GatewayError, type Nano } from '../../../../core/index.ts';

/** A page of a list; `next` is where the next page begins, and null on the last. */
export function buildPage<Row, Shown, Place>(
  rows: readonly Row[],
  limit: number,
  show: (row: Row) => Shown,
  place: (row: Row) => Place,
): { data: Shown[]; next: Place | null } {
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return { data: rows.map((row) => show(row)), next: last === undefined ? null : place(last) };
}

export function toIso(at: number): string;
export function toIso(at: number | undefined): string | null;
export function toIso(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

export function toUsdOrNull(amount: Nano | undefined): string | null {
  return amount === undefined ? null : formatUsd(amount);
}

/** The error for an order that cannot be carried out; `param` is the field that is wrong. */
export function buildRefusal(
  code: 'invalid_request' | 'not_found' | 'conflict',
  message: string,
  param?: string,
): GatewayError {
  return new GatewayError(code, message, param === undefined ? {} : { param });
}

export function buildParamError(param: string, message: string): GatewayError {
  return buildRefusal('invalid_request', `${param}: ${message}`, param);
}
