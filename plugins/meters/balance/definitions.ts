/**
 * Operations wait in four queues. Writes travel together and share a transaction. Upkeep writes too, but no
 * call waits for it, so it has transactions of its own. Reads are quick and need no transaction. Reports read
 * for long, so SQLite answers them in a thread of their own: it cannot write while it reads.
 */
export const queueNames = ['writes', 'upkeep', 'reads', 'reports'] as const;
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

export function upkeep<Run>(): Definition<'upkeep', Run> {
  return { queue: 'upkeep' };
}

export function read<Run>(): Definition<'reads', Run> {
  return { queue: 'reads' };
}

export function report<Run>(): Definition<'reports', Run> {
  return { queue: 'reports' };
}
