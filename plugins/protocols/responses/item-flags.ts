/**
 * What an item says of itself: its kind where that may be left out, its id, how far it got. Losing these changes no
 * meaning, so they are kept as spellings (`id=msg_1`) and not as fields that another protocol would have to report.
 */
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';

const headFields = ['type', 'id', 'status'] as const;
/** Of items whose kind is told by what they became. */
export const headNames: ReadonlySet<string> = new Set(headFields);

export function noteHead(item: Fields, fields: readonly string[] = ['id', 'status']): string[] {
  return fields.flatMap((name) => (typeof item[name] === 'string' ? [`${name}=${item[name]}`] : []));
}

/** The fields that `noteHead` kept. */
export function restoreHead(form: readonly string[]): Fields {
  return Object.fromEntries(
    form.flatMap((word): [string, string][] => {
      const name = headFields.find((field) => word.startsWith(`${field}=`));
      return name ? [[name, word.slice(name.length + 1)]] : [];
    }),
  );
}

/** What stands behind `name=` among the spellings. */
export function readFlag(form: readonly string[], name: string): string | undefined {
  return form.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
}
