/** Values of JSON whose type a provider does not guarantee: one of the wrong type counts as empty. */
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';

export function readText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function readObject(value: unknown): Fields {
  return isObject(value) ? value : {};
}
