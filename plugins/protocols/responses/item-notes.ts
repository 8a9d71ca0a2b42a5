/**
 * Notes on an item's type (which clients may omit), id and status. They mean nothing to another provider, so
 * they are kept as notes (`id=msg_1`): fields would be reported as lost.
 */
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';

export const headNames = ['type', 'id', 'status'] as const;

export function noteHead(item: Fields, fields: readonly string[] = ['id', 'status']): string[] {
  return fields.flatMap((name) => (typeof item[name] === 'string' ? [`${name}=${item[name]}`] : []));
}

export function restoreHead(form: readonly string[]): Fields {
  return Object.fromEntries(
    form.flatMap((word): [string, string][] => {
      const name = headNames.find((field) => word.startsWith(`${field}=`));
      return name ? [[name, word.slice(name.length + 1)]] : [];
    }),
  );
}

export function readNote(form: readonly string[], name: string): string | undefined {
  return form.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
}
