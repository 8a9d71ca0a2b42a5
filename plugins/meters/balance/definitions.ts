/**
 * Operations wait in three queues. Writes travel together and share a transaction. Reads are quick and need
 * no transaction. Reports read for long, so SQLite answers them in a thread of their own: it cannot write
 * while it reads.
 */
export const queueNames = ['writes', 'reads', 'reports'] as const;
export type QueueName = (typeof queueNames)[number];

/** One operation: its queue, and as a type its function. */
export interface Definition<Queue extends QueueName, Run> {
  readonly queue: Queue;
  /** Never present at run time. */
  readonly run?: Run;
}

export function write<Run>(): Definition<'writes', Run> {
  return { queue: 'writes' };
}

export function read<Run>(): Definition<'reads', Run> {
  return { queue: 'reads' };
}

export function report<Run>(): Definition<'reports', Run> {
  return { queue: 'reports' };
}
