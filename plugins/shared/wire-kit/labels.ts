/** Reads from a body whom and what its call is for. */
import type { Labels } from '../../../core/index.ts';

interface LabelFields {
  readonly user?: string | null | undefined;
  readonly safety_identifier?: string | null | undefined;
  readonly metadata?: Labels['metadata'] | null;
}

/** The end user and the metadata of a body; undefined if it has neither. */
export function readLabels({ user, safety_identifier: id, metadata }: LabelFields): Labels | undefined {
  return user || id || metadata
    ? { user: (user || id) ?? undefined, metadata: metadata ?? undefined }
    : undefined;
}
