/** Compares a snapshot with the catalogue: models that it adds or lacks, and every figure that differs. */
import type { Facts } from './snapshot.ts';

export interface Difference {
  readonly vendor: string;
  readonly model: string;
  readonly change: 'added' | 'missing' | 'changed';
  /** The figure that differs. */
  readonly figure?: string;
  readonly from?: string;
  /** Undefined if the snapshot does not contain it. */
  readonly to?: string;
}

/** `complete` means that the snapshot holds everything, so what it lacks is gone. */
export function findDifferences(vendor: string, ours: Facts, theirs: Facts, complete: boolean): Difference[] {
  const found: Difference[] = [];
  for (const [model, figures] of ours) {
    const other = theirs.get(model);
    if (!other) {
      found.push({ vendor, model, change: 'missing' });
      continue;
    }
    for (const figure of new Set([...Object.keys(figures), ...Object.keys(other)])) {
      const [from, to] = [figures[figure], other[figure]];
      if (from === to || (to === undefined && !complete)) continue;
      found.push({
        vendor,
        model,
        change: 'changed',
        figure,
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
      });
    }
  }
  for (const model of theirs.keys()) if (!ours.has(model)) found.push({ vendor, model, change: 'added' });
  return found;
}

export function formatDifference({ vendor, model, change, figure, from, to }: Difference): string {
  const name = `${vendor} ${model}`;
  if (change !== 'changed') return `${change === 'added' ? '+' : '-'} ${name}`;
  return `~ ${name}: ${figure} ${from ?? 'unstated'} → ${to ?? 'unstated'}`;
}
