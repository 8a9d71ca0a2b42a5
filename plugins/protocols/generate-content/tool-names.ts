/** Names that other protocols allow and Google does not, made anew from themselves; one may begin with a letter or `_` only. */
import { fitByRule } from '../../shared/wire-kit/offered-tools.ts';

const rule = { good: /^[A-Za-z_][\w.:-]{0,63}$/, strange: /^[^A-Za-z_]|[^\w.:-]/g, longest: 64 };

export function fitName(name: string): string {
  return fitByRule(name, rule);
}
