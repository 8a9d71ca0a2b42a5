/**
 * Renames tools whose names other protocols allow and Google refuses: a name must begin with a letter or `_`.
 */
import { fitNameByRule } from '../../shared/wire-kit/offered-tools.ts';

const rule = { good: /^[A-Za-z_][\w.:-]{0,63}$/, strange: /^[^A-Za-z_]|[^\w.:-]/g, longest: 64 };

export function fitName(name: string): string {
  return fitNameByRule(name, rule);
}
