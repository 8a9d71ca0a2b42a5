/** The operations of a store that read all entries, in slices, as the text of an export. */
import type { EntryKind } from '../books.ts';
import { report } from '../definitions.ts';

export const exportFormats = ['csv', 'jsonl'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Which entries an export has. Fields that are undefined select nothing. */
export interface ExportFilter {
  readonly account?: string | undefined;
  readonly key?: string | undefined;
  readonly kind?: EntryKind | undefined;
  /** From this moment on, and before that one. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** A slice of the entries' numbers: above `after`, up to `last`. However few match, it takes no longer. */
export interface ExportSlice extends ExportFilter {
  readonly format: ExportFormat;
  readonly after: number;
  readonly last: number;
}

/** The lines of a slice. */
export interface ExportedLines {
  readonly text: string;
  readonly rows: number;
}

export const exportOperations = {
  /** The entries of a slice as lines, in the order of their numbers. */
  exportEntries: report<(slice: ExportSlice) => ExportedLines>(),
  /** The highest number up to which no entry can still appear: an export up to it is complete. */
  lastEntry: report<() => number>(),
};
