/** Tool names and call ids: replaces names that Google refuses, and makes missing ids. */
import { hash } from 'node:crypto';
import { fitNameByRule } from '../../shared/wire-kit/offered-tools.ts';

const rule = { good: /^[A-Za-z_][\w.:-]{0,63}$/, strange: /^[^A-Za-z_]|[^\w.:-]/g, longest: 64 };

export function fitName(name: string): string {
  return fitNameByRule(name, rule);
}

export function makeCallId(...place: readonly (string | number)[]): string {
  return `call_${hash('sha256', JSON.stringify(place)).slice(0, 24)}`;
}

/** Whether an id is one that the gateway made. */
export function isMadeId(id: string): boolean {
  return /^call_[0-9a-f]{24}$/.test(id);
}
